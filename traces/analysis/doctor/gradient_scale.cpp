// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/gradient_scale.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/verify/recompute/loss.h"

namespace ringscope::traces {
namespace {

/// Cp or 1 / cp, whichever a factor is; 0 where it is neither.
double cpFactor(double factor, std::int32_t cp, double tolerance) {
  for (const double scale : {static_cast<double>(cp), 1.0 / cp})
    if (cp > 1 && std::abs(factor / scale - 1) <= tolerance) return scale;
  return 0;
}

GradientScale ofStep(const Trace& trace, std::int32_t train_step) {
  GradientScale reading;
  reading.train_step = train_step;
  reading.head = readHeadGradient(trace, train_step);
  const HeadGradient& head = reading.head;
  if (!head.missing.empty()) {
    reading.missing = head.missing;
    reading.recorded = head.recorded;
    return reading;
  }
  if (head.isRight()) {
    reading.are = GradientsAre::kRight;
    return reading;
  }
  reading.scale = head.isScaled() ? cpFactor(head.factor, trace.run()->cp, head.rounding) : 0;
  if (head.open.empty() && head.isMadeSmaller())
    reading.are = GradientsAre::kScaledByRank;
  else if (reading.scale > 0)
    reading.are = GradientsAre::kScaledByCp;
  reading.recorded = true;
  reading.wrong = reading.are == GradientsAre::kUnknown && head.open.empty();
  reading.missing =
      "needs gradients that follow from the recorded logits and labels in a way that "
      "is known; that of " +
      head.parameter + " in step " + std::to_string(train_step) + " does not" +
      (head.open.empty() ? "" : "; " + head.open);
  return reading;
}

/// The end-to-end verdicts of one training step.
struct StepVerdicts {
  std::vector<const DiffRecord*> gradients;
  const DiffRecord* norm = nullptr;
  bool right_before = true;  ///< all that the gradients are made of
};

std::map<std::int32_t, StepVerdicts> verdictsOf(const Trace& trace) {
  std::map<std::int32_t, StepVerdicts> steps;
  for (const DiffRecord& diff : trace.diffs()) {
    if (diff.isolated) continue;
    StepVerdicts& step = steps[diff.place.train_step];
    if (diff.tensor.starts_with("grad."))
      step.gradients.push_back(&diff);
    else if (diff.tensor == "grad_norm")
      step.norm = &diff;
    else
      step.right_before = step.right_before && !diverges(diff);
  }
  return steps;
}

/// Every gradient's error is the share of its size that a factor makes, and the norm says which.
double scaleOf(const Trace& trace, std::int32_t train_step, const StepVerdicts& step) {
  constexpr double kTolerance = 0.02;
  const auto logged = loggedNumber(trace, train_step, "grad_norm");
  if (!trace.run() || !step.norm || !logged || !(step.norm->scale > 0) || !step.right_before ||
      step.gradients.size() < 2)
    return 0;
  const double scale = cpFactor(*logged / step.norm->scale, trace.run()->cp, kTolerance);
  const bool all = std::ranges::all_of(step.gradients, [&](const DiffRecord* diff) {
    return std::abs(diff->error - std::abs(scale - 1) * diff->scale) <=
           kTolerance * std::abs(scale - 1) * diff->scale;
  });
  return all ? scale : 0;
}

/// Within rounding, and that leaves no room for a factor.
bool isSurelyRight(const DiffRecord& diff) {
  constexpr double kRoom = 0.05;
  return !diverges(diff) && diff.limit <= kRoom * diff.scale;
}

/// Reads the recorded verdicts; unknown when they do not tell the scale.
GradientScale byVerdicts(const Trace& trace) {
  GradientScale reading;
  for (const auto& [train_step, step] : verdictsOf(trace)) {
    if (step.gradients.empty()) continue;
    reading.train_step = train_step;
    if (std::ranges::all_of(step.gradients,
                            [](const DiffRecord* d) { return isSurelyRight(*d); })) {
      reading.are = GradientsAre::kRight;
      continue;
    }
    const double scale = scaleOf(trace, train_step, step);
    reading.are = scale > 0 ? GradientsAre::kScaledByCp : GradientsAre::kUnknown;
    if (scale == 0) return reading;
    reading.scale = scale;
    reading.verdicts = static_cast<int>(step.gradients.size());
    reading.norm = *loggedNumber(trace, train_step, "grad_norm");
    reading.right_norm = step.norm->scale;
    return reading;
  }
  return reading;
}

}  // namespace

GradientScale readGradientScale(const Trace& trace) {
  GradientScale known;
  known.missing = "needs the values of logits, labels, gradients and weights";
  for (const std::int32_t train_step : stepsWithGradients(trace)) {
    GradientScale step = ofStep(trace, train_step);
    if (step.are == GradientsAre::kScaledByCp || step.are == GradientsAre::kScaledByRank)
      return step;
    // A step that is right stands for those that cannot be told, and excuses none that is wrong.
    const bool stands = known.wrong || (known.are == GradientsAre::kRight && !step.wrong);
    if (!stands) known = std::move(step);
  }
  if (known.are == GradientsAre::kRight) return known;
  GradientScale verdicts = byVerdicts(trace);
  return verdicts.are == GradientsAre::kUnknown ? known : verdicts;
}

RuleResult answerFrom(const GradientScale& gradients, GradientsAre wrong,
                      void (*finish)(const GradientScale& gradients, Finding& finding)) {
  if (gradients.are == GradientsAre::kUnknown)
    return gradients.recorded ? undecided(gradients.missing) : notObservable(gradients.missing);
  if (gradients.are == GradientsAre::kRight) return clear();
  if (gradients.are != wrong)
    return undecided("needs gradients that are not wrong in another way already");
  Finding f;
  f.place = {gradients.train_step, Layer::none(), Direction::kBackward, {}};
  f.buffer = gradients.verdicts > 0 ? "grad_norm" : "grad." + gradients.head.parameter;
  finish(gradients, f);
  return found(std::move(f));
}

}  // namespace ringscope::traces
