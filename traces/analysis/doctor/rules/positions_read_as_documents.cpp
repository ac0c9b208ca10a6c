// SPDX-License-Identifier: Apache-2.0
// Where a rank's tokens jump, as between head and tail, no document begins.
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkPositionsReadAsDocuments(const Trace& trace) {
  return answerOf(
      readCoverage(trace), AttentionIs::kCutAtJumps, "positions_read_as_documents",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "Positions that jump are taken for the border of a document";
        f.evidence =
            "Rank " + toString(coverage.rank) + " leaves out " +
            describeCount(static_cast<std::int64_t>(coverage.pairs)) + " of the " +
            describeCount(static_cast<std::int64_t>(coverage.wanted), "(query, key) pair") +
            " that the declared mask has for its queries: those of "
            "rows before a jump of its tokens with rows behind it, in the block of every "
            "rank. Where tokens do not jump no pair is missing. " +
            describeExtent(coverage);
        f.remedy =
            "Give attention the mask that is meant, so that none is inferred from position ids "
            "(attention_mask, or cu_seqlens of the whole sequence), the same on all ranks.";
      });
}

}  // namespace ringscope::traces
