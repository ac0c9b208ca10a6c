// SPDX-License-Identifier: Apache-2.0
// Gradients: how they are summed, scaled and clipped.
#include <algorithm>
#include <cmath>

#include "traces/analysis/doctor/gradient_scale.h"
#include "traces/analysis/doctor/logged_loss.h"
#include "traces/analysis/doctor/own_averages.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/replica_drift.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/target_scale.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/step_log.h"

namespace ringscope::traces {

// missing_cp_grad_reduce: cp ranks hold different gradients after the sync, and different weights
// after the step.
namespace {

/// Reports whether the ranks of an event are those of this axis.
bool isOver(const Trace& trace, const Event& event, GroupAxis axis) {
  const auto group = std::ranges::find(trace.groups(), event.group, &GroupRecord::id);
  return group != trace.groups().end() && group->axis == axis;
}

enum class Reduction { kUnknown, kNone, kOverDp, kSome };

/// Returns the reduction in one training step; unknown when no event of the step was recorded.
Reduction reductionIn(const Trace& trace, std::int32_t train_step) {
  Reduction found = Reduction::kUnknown;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      if (event.place.train_step != train_step) continue;
      if (found == Reduction::kUnknown) found = Reduction::kNone;
      const bool sums = event.kind == EventKind::kGradSync || event.kind == EventKind::kCollective;
      // The sums of tp ranks are of parameters that all of them hold, and are no sums over tokens.
      if (!sums || event.payload != Payload::kGrads || event.bytes <= 0 ||
          isOver(trace, event, GroupAxis::kTp))
        continue;
      if (!isOver(trace, event, GroupAxis::kDp)) return Reduction::kSome;
      found = Reduction::kOverDp;
    }
  return found;
}

const char* reductionWords(Reduction reduction) {
  switch (reduction) {
    case Reduction::kOverDp:
    case Reduction::kSome:
      return "a reduction of gradients was recorded, but not over these ranks.";
    case Reduction::kNone:
      return "no reduction of gradients was recorded.";
    case Reduction::kUnknown:
      return "which gradients were summed in this training step was not recorded.";
  }
  return "";
}

Finding missingCpGradReduceFinding(std::string evidence, bool certain) {
  return {
      .confidence = certain ? Confidence::kCertain : Confidence::kLikely,
      .title = "Gradients are not reduced over the cp ranks",
      .evidence = std::move(evidence),
      .remedy =
          "Every cp rank saw other tokens, so its gradients are a part of the whole: all-reduce "
          "them over dp×cp (mesh[('dp', 'cp')]._flatten()) before clipping, not over dp alone."};
}

Finding missingCpGradReduceFinding(const ReplicaDrift& grads, const ReplicaDrift& weights,
                                   Reduction reduction) {
  const bool left_out = reduction == Reduction::kSome && grads.differing < grads.parameters;
  Finding f = missingCpGradReduceFinding(
      std::to_string(grads.differing) + " of " + std::to_string(grads.parameters) +
          " gradients differ between cp ranks after the sync (largest entries by a factor of up "
          "to " +
          describeSignificant(grads.ratio, 3) + "), and " + std::to_string(weights.differing) +
          " of " + std::to_string(weights.parameters) + " weights differ after the step; " +
          (left_out ? "those of other parameters agree: these were left out of a sum."
                    : reductionWords(reduction)),
      reduction == Reduction::kNone);
  f.place = grads.first->place;
  f.rank = grads.first->rank;
  f.buffer = grads.first->tensor.text();
  return f;
}

/// Reports whether gradients are equal although they were not summed over cp, because the ranks had
/// the same tokens. Only runs of RingScope record all sums of their ranks.
bool areEqualWithoutSum(const Trace& trace) {
  if (!trace.run() || trace.run()->command != Command::kTrain) return false;
  const auto gradient = std::ranges::find_if(trace.tensors(), [](const TensorRecord& tensor) {
    return tensor.tensor.kind == TensorKind::kGradient;
  });
  const Reduction reduction = reductionIn(trace, gradient->place.train_step);
  return reduction == Reduction::kNone || reduction == Reduction::kOverDp;
}

/// Judges ranks with the same tokens, each of which has the same part of the whole.
RuleResult judgeEqualRanks(const Readings& readings) {
  const GradientScale& scale = readings.gradientScale();
  if (scale.are != GradientsAre::kScaledByCp || scale.scale >= 1 || scale.verdicts > 0)
    return notObservable(
        "needs cp ranks with different tokens: no reduction of gradients over them was recorded, "
        "and theirs are equal without one");
  Finding f = missingCpGradReduceFinding(
      "No reduction of gradients over the cp ranks was recorded; theirs are equal, and that of " +
          scale.head.parameter + " is " + describeSignificant(scale.head.factor, 4) +
          " times the one that follows from the recorded logits and labels of all ranks.",
      true);
  f.place = {scale.train_step, Layer::none(), Direction::kBackward, {}};
  f.buffer = "grad." + scale.head.parameter;
  return found(std::move(f));
}

}  // namespace

RuleResult checkMissingCpGradReduce(const Readings& readings) {
  const Trace& trace = readings.trace();
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  const ReplicaDrift grads = readDrift(trace, TensorKind::kGradient);
  if (grads.parameters == 0) return notObservable("needs the hashes of gradients after the sync");
  if (grads.differing == 0 && areEqualWithoutSum(trace)) return judgeEqualRanks(readings);
  if (grads.differing == 0 && grads.unnamed == 0) return clear();
  if (grads.differing == 0)
    return undecided("needs the names of " + describeCount(grads.unnamed, "gradient") +
                     " that are of no parameter of the model that was recorded");
  if (grads.between_replicas)
    return undecided("needs a sum over dp: only dp ranks differ, as in local SGD");
  if (areSummedInUpdate(trace, grads))
    return undecided("needs the gradients that the optimizer sums: the updated weights agree");
  return found(missingCpGradReduceFinding(grads, readDrift(trace, TensorKind::kWeight),
                                          reductionIn(trace, grads.first->place.train_step)));
}

// clip_before_reduce: each rank scaled its own gradients before the sum, or clips its own part of
// them by its own norm. Or nothing was clipped although the norm of the sum is above the limit.
namespace {

constexpr const char* kClipRemedy =
    "Sum the gradients over dp×cp first, then take their norm and scale all of them by one "
    "coefficient, the same on every rank.";

void describeClipped(const GradientScale& g, Finding& f) {
  constexpr std::size_t kShown = 4;
  const auto& ranks = g.head.ranks;
  std::string factors;
  for (std::size_t i = 0; i < ranks.size() && i < kShown; ++i)
    factors += (i ? ", rank " : "rank ") + toString(ranks[i].rank) + " by " +
               describeSignificant(ranks[i].factor, 3);
  f.confidence = Confidence::kLikely;
  f.title = "Ranks clip their own gradients before the sum";
  f.evidence =
      "The gradient of " + g.head.parameter +
      " after the sync is a sum in which each rank's own part was made smaller: " + factors +
      (ranks.size() > kShown ? " and so on" : "") + ", which leaves " +
      describeSignificant(100 * g.head.off_by_rank, 2) +
      " % of it. From the sum of what the recorded logits and labels give it is off by " +
      describeSignificant(100 * g.head.off, 2) + " %.";
  f.remedy = kClipRemedy;
}

/// Returns the factor by which torch.nn.utils.clip_grad_norm_ multiplies gradients of this norm.
double clipCoefficient(double norm, double limit) {
  return std::min(1.0, limit / (norm + 1e-6));
}

/// Finds the first training step whose sum is above the limit and was not clipped.
std::optional<Finding> unclippedSum(const Trace& trace) {
  constexpr double kRounding = 1e-3;
  if (!trace.run() || !(trace.run()->max_norm > 0)) return std::nullopt;
  const double limit = trace.run()->max_norm;
  for (const auto& [number, step] : loggedSteps(trace)) {
    if (!step.grad_norm || !step.clip_coefficient) continue;
    const double meant = clipCoefficient(*step.grad_norm, limit);
    const bool left = std::abs(*step.clip_coefficient - 1) <= kRounding;
    if (!left || !(meant < 1 - 2 * kRounding)) continue;
    return Finding{
        .confidence = Confidence::kLikely,
        .title = "Gradients are not clipped after their sum",
        .place = {number, Layer::none(), Direction::kBackward, {}},
        .buffer = "grad_norm",
        .evidence =
            "The gradients after the sync have the norm " +
            describeSignificant(*step.grad_norm, 3) + " in training step " +
            std::to_string(number) + ", above the limit of " + describeSignificant(limit, 3) +
            ", and go to the optimizer as they are; a factor of " + describeSignificant(meant, 3) +
            " was due. So it is where ranks clip their own parts, which are smaller, "
            "or where nothing is clipped.",
        .remedy = kClipRemedy};
  }
  return std::nullopt;
}

/// Reports whether a rank posts a sum of gradients over ranks of its sequences after this time.
bool sumsLater(const Trace& trace, const Event& clip) {
  return std::ranges::any_of(trace.events(clip.rank), [&](const Event& event) {
    return event.kind == EventKind::kCollective && event.payload == Payload::kGrads &&
           event.place.train_step == clip.place.train_step && event.begin_ns >= clip.end_ns &&
           groupWithinStep(trace, event);
  });
}

/// Finds a clipping that made a rank's gradients smaller before their sum.
std::optional<Finding> clippedBeforeSum(const Trace& trace) {
  constexpr double kRounding = 1e-3;
  if (!trace.run() || !(trace.run()->max_norm > 0)) return std::nullopt;
  const auto steps = loggedSteps(trace);
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& clip : trace.events(WorldRank::of(rank))) {
      const auto step = steps.find(clip.place.train_step);
      if (clip.kind != EventKind::kClip || step == steps.end() || !step->second.grad_norm ||
          *step->second.grad_norm < (1 + kRounding) * trace.run()->max_norm ||
          !sumsLater(trace, clip))
        continue;
      return Finding{.confidence = Confidence::kLikely,
                     .title = "Ranks clip their own gradients before the sum",
                     .place = {clip.place.train_step, Layer::none(), Direction::kBackward, {}},
                     .rank = clip.rank,
                     .buffer = "grad_norm",
                     .evidence = "Rank " + toString(clip.rank) + " clips gradients of the norm " +
                                 describeSignificant(*step->second.grad_norm, 3) + " to " +
                                 describeSignificant(trace.run()->max_norm, 3) +
                                 " and sums gradients over the ranks of its sequence only then.",
                     .remedy = kClipRemedy};
    }
  return std::nullopt;
}

}  // namespace

RuleResult checkClipBeforeReduce(const Readings& readings) {
  const Trace& trace = readings.trace();
  RuleResult answer =
      answerFrom(readings.gradientScale(), GradientsAre::kScaledByRank, describeClipped);
  if (answer.verdict == Verdict::kFound) return answer;
  if (auto finding = clippedByOwnNorm(trace)) return found(std::move(*finding));
  if (auto finding = unclippedSum(trace)) return found(std::move(*finding));
  if (answer.verdict == Verdict::kClear) return answer;
  if (auto finding = clippedBeforeSum(trace)) return found(std::move(*finding));
  return answer;
}

// grad_scaled_by_cp: the gradients after the sync are those of the loss over all targets times cp,
// or divided by it.
namespace {

/// Reports whether clipping may explain the factor; it makes gradients smaller, never larger.
bool mayBeClipped(const GradientScale& g) {
  return g.verdicts == 0 && g.scale < 1;
}

std::string scaleEvidence(const GradientScale& g) {
  if (g.verdicts > 0)
    return "Loss and attention equal those of unsharded training, and all " +
           std::to_string(g.verdicts) + " gradients of step " + std::to_string(g.train_step) +
           " are " + describeSignificant(g.scale, 3) + " times its; their norm is " +
           describeSignificant(g.norm, 4) + " where it has " +
           describeSignificant(g.right_norm, 4) + ".";
  std::string evidence =
      "The gradient of " + g.head.parameter + " is " + describeSignificant(g.head.factor, 4) +
      " times the one that follows from the recorded logits and labels of all ranks, within " +
      describeSignificant(100 * g.head.off_scaled, 2) + " %.";
  if (mayBeClipped(g))
    evidence +=
        " Ranks that clip their own gradients before the sum look the same where each of them has "
        "to take its by this factor.";
  return evidence;
}

void describeScaled(const GradientScale& g, Finding& f) {
  f.confidence = g.verdicts > 0 || mayBeClipped(g) ? Confidence::kLikely : Confidence::kCertain;
  f.title = g.scale > 1 ? "The gradients are taken times cp" : "The gradients are divided by cp";
  f.evidence = scaleEvidence(g);
  f.remedy =
      g.scale > 1
          ? "Sum the gradients over dp×cp once, of a loss that is divided by all targets, and drop "
            "the factor of cp that was made for a mean over the ranks."
          : "The ranks' gradients are parts of one sum: sum them over dp×cp and take no mean (data-"
            "parallel wrappers divide by their number of ranks), or take the loss times that "
            "number.";
}

}  // namespace

RuleResult checkGradScaledByCp(const Readings& readings) {
  const Trace& trace = readings.trace();
  if (const auto answer = answerWithoutCp(trace)) return *answer;
  RuleResult answer =
      answerFrom(readings.targetScale(), TargetsScaled::kBySync,
                 answerFrom(readings.gradientScale(), GradientsAre::kScaledByCp, describeScaled));
  // A loss that is logged without the factor is right; its backward began with another number.
  if (readings.loggedLoss().is != LossIs::kRight) return answer;
  return answerFrom(readings.targetScale(), TargetsScaled::kByLoss, std::move(answer));
}

}  // namespace ringscope::traces
