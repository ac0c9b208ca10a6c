// SPDX-License-Identifier: Apache-2.0
// Tokens that are declared to be padding neither attend nor are attended.
#include <algorithm>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkPaddingUnmasked(const Trace& trace) {
  RuleResult result = answerOf(
      readCoverage(trace), AttentionIs::kOfPadding, "padding_unmasked",
      [](const CoverageReading& coverage, Finding& f) {
        // Padding lies after its document, where no query of a causal mask sees it.
        if (coverage.causal) f.severity = "warning";
        f.title = "Padding takes part in attention";
        f.evidence = "Rank " + toString(coverage.rank) + " attends " +
                     describeCount(static_cast<std::int64_t>(coverage.pairs), "(query, key) pair") +
                     " of which one is padding behind a document; the declared "
                     "mask has " +
                     describeCount(static_cast<std::int64_t>(coverage.wanted)) +
                     " for its queries. " + describeExtent(coverage);
        f.remedy =
            "Mask what was padded: give attention where the tokens of each sequence end, and not "
            "only where its padded slot does (cu_seqlens beside cu_seqlens_padded), and set rows "
            "without a key to 0.";
      });
  // Rows of padding may be compared too, and then they are wrong.
  if (std::ranges::any_of(trace.diffs(), diverges))
    for (Finding& f : result.findings) f.severity = "error";
  return result;
}

}  // namespace ringscope::traces
