// SPDX-License-Identifier: Apache-2.0
// The pairs that are attended against the declared order and window.
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkMaskDropped(const Trace& trace) {
  return answerOf(
      readCoverage(trace), AttentionIs::kWithoutMask, "mask_dropped",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "Attention is not limited to the declared mask";
        f.evidence =
            "Rank " + toString(coverage.rank) + " attends " +
            describeCount(static_cast<std::int64_t>(coverage.pairs), "(query, key) pair") +
            " whose key " +
            (coverage.window > 0
                 ? "lies outside the declared window of " + describeCount(coverage.window, "token")
                 : std::string("comes after its query, under a causal mask")) +
            "; the mask has " + describeCount(static_cast<std::int64_t>(coverage.wanted)) +
            " for its queries. " + describeExtent(coverage);
        f.remedy =
            "Give the window or mask to the kernel of every block, moved by the distance between "
            "the block's first key and the rank's first query, in every layer that declares it; "
            "refuse a kernel that cannot take it.";
      });
}

}  // namespace ringscope::traces
