// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/diff/summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Returns the ratio for comparisons; NaN counts as infinity.
double magnitude(const DiffRecord& diff) {
  return std::isnan(diff.ratio) ? std::numeric_limits<double>::infinity() : diff.ratio;
}

int tensorOrder(const std::string& tensor) {
  static const std::array<std::string, 12> kOrder = {"rotary", "q",    "k",    "v",  "out", "lse",
                                                     "logits", "loss", "dout", "dv", "dk",  "dq"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), tensor) - kOrder.begin());
}

auto dependenceKey(const DiffRecord& diff) {
  const bool backward = diff.place.direction == Direction::kBackward;
  // Outside layers, the rotary embedding comes before them, logits and loss end forward, and
  // gradients end backward.
  const int outside = diff.tensor == "rotary" ? -1 : 1 << 20;
  const int layer = diff.place.layer.isNone() ? outside
                    : backward                ? -diff.place.layer.value()
                                              : diff.place.layer.value();
  return std::tuple(!diff.isolated, diff.place.train_step, backward, layer,
                    tensorOrder(diff.tensor));
}

}  // namespace

bool diverges(const DiffRecord& diff) {
  return !(diff.ratio <= 1);
}

bool isWorse(const DiffRecord& diff, const DiffRecord& than) {
  return magnitude(diff) > magnitude(than);
}

void keepWorse(const DiffRecord*& worst, const DiffRecord& candidate) {
  if (!worst || isWorse(candidate, *worst)) worst = &candidate;
}

std::vector<const DiffRecord*> divergences(const Trace& trace) {
  std::vector<const DiffRecord*> found;
  for (const DiffRecord& diff : trace.diffs())
    if (diverges(diff)) found.push_back(&diff);
  std::ranges::stable_sort(
      found, [](const DiffRecord* a, const DiffRecord* b) { return comesBefore(*a, *b); });
  return found;
}

DiffSummary summarize(const Trace& trace) {
  DiffSummary summary;
  for (const DiffRecord& diff : trace.diffs()) {
    ++summary.compared;
    summary.diverging += diverges(diff);
    keepWorse(diff.isolated ? summary.worst_isolated : summary.worst_end_to_end, diff);
  }
  const auto found = divergences(trace);
  if (!found.empty()) summary.first_divergence = found.front();
  return summary;
}

void WorstDiffs::update(const Trace& trace) {
  for (; seen_ < trace.diffs().size(); ++seen_) {
    const DiffRecord& diff = trace.diffs()[seen_];
    for (Worst* of : {&of_run_, &of_steps_[diff.place.train_step]}) {
      auto& worst = diff.isolated ? of->isolated : of->end_to_end;
      if (!worst || isWorse(diff, trace.diffs()[*worst])) worst = seen_;
    }
  }
}

const DiffRecord* WorstDiffs::overall(const Trace& trace) const {
  const DiffRecord* worst = isolated(trace);
  if (const DiffRecord* other = endToEnd(trace)) keepWorse(worst, *other);
  return worst;
}

bool comesBefore(const DiffRecord& a, const DiffRecord& b) {
  return dependenceKey(a) < dependenceKey(b);
}

std::string describe(const DiffRecord& diff) {
  return (diff.place.layer.exists() ? "layer " + toString(diff.place.layer) + ", " : "") +
         diff.tensor;
}

std::string describeQuantisation(double share) {
  return "Rounding to FP8 alone moves it by " + describeSignificant(share * 100, 2) +
         " % of its size";
}

}  // namespace ringscope::traces
