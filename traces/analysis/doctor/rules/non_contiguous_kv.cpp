// SPDX-License-Identifier: Apache-2.0
// A KV block has the same bytes wherever it is.
#include "traces/analysis/doctor/block_reading.h"

namespace ringscope::traces {

RuleResult checkNonContiguousKv(const Trace& trace) {
  return answerOf(
      readBlocks(trace), BlocksAre::kReordered, "non_contiguous_kv",
      [](const BlockReading& blocks, Finding& f) {
        f.title = "KV blocks arrive with their values in another order";
        f.evidence = "What rank " + toString(blocks.rank) + " has as the block of rank " +
                     toString(blocks.source) +
                     " has another hash than that one's own and the same smallest, largest and "
                     "mean value; so have " +
                     std::to_string(blocks.wrong) + " of the " + std::to_string(blocks.of) +
                     " blocks of other ranks that it holds.";
        f.remedy =
            "Call contiguous() on K and V (and on halves of them) before they are sent or written "
            "into a buffer: a message is the tensor's memory, whatever its strides say.";
      });
}

}  // namespace ringscope::traces
