// SPDX-License-Identifier: Apache-2.0
// Under a causal mask no query attends to a later key, in whoever's block that is.
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkNoSkipFutureBlock(const Trace& trace) {
  return answerOf(
      readCoverage(trace), AttentionIs::kOfFutureBlocks, "no_skip_future_block",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "Later tokens of other ranks' blocks are attended";
        f.evidence = "Of " +
                     describeCount(static_cast<std::int64_t>(coverage.pairs), "(query, key) pair") +
                     " that rank " + toString(coverage.rank) +
                     " attends the key comes after its query, which the declared mask does not "
                     "allow; all are in blocks of other ranks, the first in that of rank " +
                     toString(coverage.source) + ". " + describeExtent(coverage);
        f.remedy =
            "Skip a block of which every key comes after every query, and of the others attend "
            "only the part that is not in the future: with head_tail the first half of the keys, "
            "or the second half of the queries.";
      });
}

}  // namespace ringscope::traces
