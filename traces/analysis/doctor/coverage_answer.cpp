// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/coverage_reading.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// "2 of 4 ranks do so." and, if it is true, that the tile masks of pieces are not recorded.
std::string describeExtent(const CoverageReading& coverage) {
  std::string text =
      std::to_string(coverage.ranks) + " of " + std::to_string(coverage.of) +
      (coverage.ranks == 1 ? " ranks does so" : " ranks do so") +
      (coverage.microbatch > 0 ? " in microbatch " + std::to_string(coverage.microbatch) : "") +
      ".";
  if (!coverage.certain)
    text +=
        " Of some pieces the rows alone are recorded; their tile masks are taken for the "
        "declared order and window.";
  return text;
}

NamedValues valuesOf(const CoverageReading& coverage) {
  const auto pairs = static_cast<std::int64_t>(coverage.pairs),
             wanted = static_cast<std::int64_t>(coverage.wanted);
  return {{"rank", toString(coverage.rank)},
          {"source", toString(coverage.source)},
          {"pairs", describeCount(pairs, "(query, key) pair")},
          {"pair count", describeCount(pairs)},
          {"wanted", describeCount(wanted, "(query, key) pair")},
          {"wanted count", describeCount(wanted)},
          {"window", describeCount(coverage.window, "token")}};
}

}  // namespace

RuleResult answerFrom(const CoverageReading& coverage, AttentionIs wrong,
                      const FindingWords& words) {
  if (coverage.are == AttentionIs::kUnknown)
    return coverage.recorded ? undecided(coverage.missing) : notObservable(coverage.missing);
  if (coverage.are == AttentionIs::kAsDeclared) return clear();
  if (coverage.are != wrong)
    return undecided("needs attention whose pairs are not wrong in another way already");
  return found(
      {.confidence = coverage.certain ? Confidence::kCertain : Confidence::kLikely,
       .title = words.title,
       .place = coverage.place,
       .rank = coverage.rank,
       .evidence = fillIn(words.evidence, valuesOf(coverage)) + " " + describeExtent(coverage),
       .remedy = words.remedy});
}

}  // namespace ringscope::traces
