// SPDX-License-Identifier: Apache-2.0
// A causal mask belongs to a piece whose queries and keys are the same tokens; any other piece of
// earlier keys is attended whole.
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkCausalOnEveryBlock(const Trace& trace) {
  return answerOf(
      readCoverage(trace), AttentionIs::kCutByCausal, "causal_on_every_block",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "A causal mask cuts blocks that should be attended whole";
        f.evidence = "Pieces of rank " + toString(coverage.rank) +
                     " with a causal mask leave out " +
                     describeCount(static_cast<std::int64_t>(coverage.pairs), "(query, key) pair") +
                     " that the declared mask has, of " +
                     describeCount(static_cast<std::int64_t>(coverage.wanted)) +
                     " for its queries; the first such piece is of the block of rank " +
                     toString(coverage.source) + ". " + describeExtent(coverage);
        f.remedy =
            "Set is_causal only where a rank attends its own block, or where two chunks are the "
            "same; blocks of earlier tokens take no mask, and those of later ones are skipped.";
      });
}

}  // namespace ringscope::traces
