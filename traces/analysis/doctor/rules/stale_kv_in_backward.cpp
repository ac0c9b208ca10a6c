// SPDX-License-Identifier: Apache-2.0
// The KV blocks of backward's ring steps against those of the ranks that they are taken for.
#include "traces/analysis/doctor/block_reading.h"

namespace ringscope::traces {

RuleResult checkStaleKvInBackward(const Trace& trace) {
  return answerOf(
      readBlocks(trace), BlocksAre::kOldInBackward, "stale_kv_in_backward",
      [](const BlockReading& blocks, Finding& f) {
        f.title = "Backward uses the KV block of its first ring step again and again";
        f.evidence = "Forward had the right block at every ring step. In backward rank " +
                     toString(blocks.rank) + " has that of rank " + toString(blocks.held) +
                     " where it takes it for that of rank " + toString(blocks.source) + ", and " +
                     std::to_string(blocks.wrong) + " wrong ones in all.";
        f.remedy =
            "Let backward pass KV round as forward does, and compute each ring step's gradients "
            "with the block that has arrived, not with the k and v that were saved.";
      });
}

}  // namespace ringscope::traces
