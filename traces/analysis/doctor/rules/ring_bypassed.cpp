// SPDX-License-Identifier: Apache-2.0
// Where the mask has pairs of different ranks' tokens, some rank attends another's block.
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkRingBypassed(const Trace& trace) {
  return answerOf(
      readCoverage(trace), AttentionIs::kOfOwnBlocksOnly, "ring_bypassed",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "Each rank attends to its own tokens only";
        f.evidence =
            "No piece of any rank is of another rank's block. Rank " + toString(coverage.rank) +
            " leaves out " + describeCount(static_cast<std::int64_t>(coverage.pairs)) + " of the " +
            describeCount(static_cast<std::int64_t>(coverage.wanted), "(query, key) pair") +
            " that the declared mask has for its queries. " + describeExtent(coverage);
        f.remedy =
            "Check that attention is called by the implementation that context parallelism "
            "replaces (scaled_dot_product_attention within context_parallel, or the attention "
            "that was registered with the cp group), and not by a kernel that knows of no ring.";
      });
}

}  // namespace ringscope::traces
