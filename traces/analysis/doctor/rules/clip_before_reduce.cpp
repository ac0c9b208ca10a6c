// SPDX-License-Identifier: Apache-2.0
// The gradients after the sync as a sum of the ranks' own: did each rank make its part smaller
// before, by a factor of its own? And is their norm above the limit, though nothing was clipped
// after the sum?
#include <algorithm>
#include <cmath>

#include "traces/analysis/doctor/gradient_scale.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/step_log.h"

namespace ringscope::traces {
namespace {

constexpr const char* kRule = "clip_before_reduce";
constexpr const char* kRemedy =
    "Sum the gradients over dp×cp first, then take their norm and scale all of them by one "
    "coefficient, the same on every rank.";

void finish(const GradientScale& g, Finding& f) {
  constexpr std::size_t kShown = 4;
  const auto& ranks = g.head.ranks;
  std::string factors;
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i)
    factors += (i ? ", rank " : "rank ") + toString(ranks[i].rank) + " by " +
               describeSignificant(ranks[i].factor, 3);
  f.confidence = "likely";
  f.title = "Ranks clip their own gradients before the sum";
  f.evidence =
      "The gradient of " + g.head.parameter +
      " after the sync is a sum in which each rank's own part was made smaller: " + factors +
      (ranks.size() > kShown ? " and so on" : "") + ", which leaves " +
      describeSignificant(100 * g.head.off_by_rank, 2) +
      " % of it. From the sum of what the recorded logits and labels give it is off by " +
      describeSignificant(100 * g.head.off, 2) + " %.";
  f.remedy = kRemedy;
}

/// By what gradients of this norm are multiplied, as torch.nn.utils.clip_grad_norm_ does.
double coefficientFor(double norm, double limit) {
  return std::min(1.0, limit / (norm + 1e-6));
}

/// Of the first training step whose sum is above the limit and was left so.
std::optional<Finding> unclippedSum(const Trace& trace) {
  constexpr double kRounding = 1e-3;
  if (!trace.run() || !(trace.run()->max_norm > 0)) return std::nullopt;
  const double limit = trace.run()->max_norm;
  for (const auto& [number, step] : loggedSteps(trace)) {
    if (!step.grad_norm || !step.clip_coefficient) continue;
    const double meant = coefficientFor(*step.grad_norm, limit);
    const bool left = std::abs(*step.clip_coefficient - 1) <= kRounding;
    if (!left || !(meant < 1 - 2 * kRounding)) continue;
    Finding f;
    f.rule = kRule;
    f.severity = "error";
    f.confidence = "likely";
    f.title = "Gradients are not clipped after their sum";
    f.place = {number, Layer::none(), Direction::kBackward, {}};
    f.buffer = "grad_norm";
    f.evidence = "The gradients after the sync have the norm " +
                 describeSignificant(*step.grad_norm, 3) + " in training step " +
                 std::to_string(number) + ", above the limit of " + describeSignificant(limit, 3) +
                 ", and go to the optimizer as they are; a factor of " +
                 describeSignificant(meant, 3) +
                 " was due. So it is where ranks clip their own parts, which are smaller, or where "
                 "nothing is clipped.";
    f.remedy = kRemedy;
    return f;
  }
  return std::nullopt;
}

}  // namespace

RuleResult checkClipBeforeReduce(const Trace& trace) {
  RuleResult answer =
      answerOf(readGradientScale(trace), GradientsAre::kScaledByRank, kRule, finish);
  if (answer.verdict == Verdict::kFound) return answer;
  if (auto finding = unclippedSum(trace)) return found(std::move(*finding));
  return answer;
}

}  // namespace ringscope::traces
