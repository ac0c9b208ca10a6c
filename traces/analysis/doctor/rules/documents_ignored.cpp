// SPDX-License-Identifier: Apache-2.0
// Queries attend to keys of their own document only, where that was declared.
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {

RuleResult checkDocumentsIgnored(const Trace& trace) {
  return answerOf(
      readCoverage(trace), AttentionIs::kAcrossDocuments, "documents_ignored",
      [](const CoverageReading& coverage, Finding& f) {
        f.title = "Attention crosses the borders of packed documents";
        f.evidence = "Rank " + toString(coverage.rank) + " attends " +
                     describeCount(static_cast<std::int64_t>(coverage.pairs), "(query, key) pair") +
                     " of two documents, or of padding; the declared mask has " +
                     describeCount(static_cast<std::int64_t>(coverage.wanted)) +
                     " for its queries. " + describeExtent(coverage);
        f.remedy =
            "Give attention the borders of the documents (cu_seqlens, or a block-diagonal mask), "
            "cut for each pair of shards as the tokens are.";
      });
}

}  // namespace ringscope::traces
