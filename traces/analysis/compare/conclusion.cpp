// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "traces/analysis/compare/report.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Returns the conclusion when nothing differs by more than rounding explains: the largest
/// difference, and how the limit is known.
std::string withinRounding(const RunComparison& comparison) {
  const std::int64_t all = std::ssize(comparison.all);
  if (std::ranges::none_of(comparison.all, &TensorDifference::explained))
    return "✓ In " + describeCount(all, "comparison") + " nothing differs by more than equal runs.";
  const auto& largest = *std::ranges::max_element(comparison.all, {}, &TensorDifference::worst);
  const std::int64_t some = comparison.count(Agreement::kRounding);
  return "✓ Equal within rounding: " + describeCount(some) + " of " +
         describeCount(all, "comparison") + (some == 1 ? " differs" : " differ") +
         ", and both runs are within their limits of unsharded attention. Largest: " +
         describe(largest) + " " + describeSize(largest) + ".";
}

/// Returns "≠ 3 of 40 comparisons differ by more than rounding explains."
std::string differing(const RunComparison& comparison, Agreement agreement) {
  const std::int64_t some = comparison.count(agreement);
  std::string text = agreement == Agreement::kDiffers ? "≠ " : "– ";
  text += describeCount(some) + " of " + describeCount(std::ssize(comparison.all), "comparison") +
          (some == 1 ? " differs" : " differ");
  return text + (agreement == Agreement::kDiffers
                     ? " by more than rounding explains."
                     : ", and whether by more than rounding cannot be judged.");
}

/// Returns advice that says what would tell whether rounding explains the remaining differences.
std::string adviceOf(const RunComparison& comparison) {
  if (!comparison.has_floor) return comparison.unjudged;
  return "Equal runs that are bit for bit the same, or that lack a tensor, say nothing of another "
         "order of adding. " +
         comparison.unjudged;
}

}  // namespace

std::vector<std::string> concludeFrom(const RunComparison& comparison) {
  const std::int64_t all = std::ssize(comparison.all);
  switch (comparison.verdict()) {
    case Agreement::kSame:
      return {"✓ " + describeAll(all, "comparison") + (all == 1 ? " agrees" : " agree") +
              " bit for bit or by statistics."};
    case Agreement::kRounding:
      return {withinRounding(comparison)};
    default:
      break;
  }
  const TensorDifference* first = comparison.first();
  if (!first)
    return {
        "– No tensor and no number is recorded at the same place of both: whether their values "
        "differ is not known."};
  std::string text = differing(comparison, first->agreement()) + " First: " + describe(*first) +
                     " " + describeSize(*first);
  if (const std::string where = describeWhere(*first); !where.empty()) text += ", at " + where;
  std::vector<std::string> lines = {text + "."};
  const TensorDifference* steepest = comparison.steepest();
  if (steepest && steepest != first)
    lines.push_back("Most of it comes in at " + describe(*steepest) + ", which " +
                    describeSize(*steepest) + ".");
  const std::int64_t unknown = comparison.count(Agreement::kUnknown);
  if (first->agreement() == Agreement::kDiffers && unknown > 0)
    lines.push_back("Whether " + describeCount(unknown, "more comparison") +
                    (unknown == 1 ? " differs" : " differ") +
                    " by more than rounding cannot be judged.");
  if (unknown > 0) lines.push_back(adviceOf(comparison));
  return lines;
}

}  // namespace ringscope::traces
