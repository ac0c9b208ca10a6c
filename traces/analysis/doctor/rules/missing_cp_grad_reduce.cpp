// SPDX-License-Identifier: Apache-2.0
// After gradient sync every cp rank must hold the same gradients, and after the step the same
// weights.
#include <algorithm>

#include "traces/analysis/doctor/gradient_scale.h"
#include "traces/analysis/doctor/replica_drift.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The ranks that an event concerns are those of this axis.
bool isOver(const Trace& trace, const Event& event, GroupAxis axis) {
  const auto group = std::ranges::find(trace.groups(), event.group, &GroupRecord::id);
  return group != trace.groups().end() && group->axis == axis;
}

enum class Reduction { kUnknown, kNone, kOverDp, kSome };

/// In one training step; unknown where no event of it was recorded.
Reduction reductionIn(const Trace& trace, std::int32_t train_step) {
  Reduction found = Reduction::kUnknown;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      if (event.place.train_step != train_step) continue;
      if (found == Reduction::kUnknown) found = Reduction::kNone;
      const bool sums = event.kind == EventKind::kGradSync || event.kind == EventKind::kCollective;
      // What tp ranks add up is of parameters that they hold alike, and no sum over tokens.
      if (!sums || event.payload != Payload::kGrads || event.bytes <= 0 ||
          isOver(trace, event, GroupAxis::kTp))
        continue;
      if (!isOver(trace, event, GroupAxis::kDp)) return Reduction::kSome;
      found = Reduction::kOverDp;
    }
  return found;
}

const char* describe(Reduction reduction) {
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

Finding finding(std::string evidence, bool certain) {
  Finding f;
  f.rule = "missing_cp_grad_reduce";
  f.severity = "error";
  f.confidence = certain ? "certain" : "likely";
  f.title = "Gradients are not reduced over the cp ranks";
  f.evidence = std::move(evidence);
  f.remedy =
      "Every cp rank saw other tokens, so its gradients are a part of the whole: all-reduce them "
      "over "
      "dp×cp (mesh[('dp', 'cp')]._flatten()) before clipping, not over dp alone.";
  return f;
}

Finding finding(const ReplicaDrift& grads, const ReplicaDrift& weights, Reduction reduction) {
  Finding f = finding(
      std::to_string(grads.differing) + " of " + std::to_string(grads.parameters) +
          " gradients differ between cp ranks after the sync (largest entries by a factor of up "
          "to " +
          describeSignificant(grads.ratio, 3) + "), and " + std::to_string(weights.differing) +
          " of " + std::to_string(weights.parameters) + " weights differ after the step; " +
          describe(reduction),
      reduction == Reduction::kNone);
  f.place = grads.first->place;
  f.rank = grads.first->rank;
  f.buffer = grads.first->tensor.text();
  return f;
}

/// A run of RingScope's own records all that its ranks sum: equal gradients without a sum over cp
/// are those of ranks that had the same tokens.
bool areEqualWithoutSum(const Trace& trace) {
  if (!trace.run() || trace.run()->command != Command::kTrain) return false;
  const auto gradient = std::ranges::find_if(trace.tensors(), [](const TensorRecord& tensor) {
    return tensor.tensor.kind == TensorKind::kGradient;
  });
  if (gradient == trace.tensors().end()) return false;
  const Reduction reduction = reductionIn(trace, gradient->place.train_step);
  return reduction == Reduction::kNone || reduction == Reduction::kOverDp;
}

/// Ranks with the same tokens have a part of the whole each, and all the same one.
RuleResult ofEqualRanks(const Trace& trace) {
  const GradientScale scale = readGradientScale(trace);
  if (scale.are != GradientsAre::kScaledByCp || scale.scale >= 1 || scale.verdicts > 0)
    return notObservable(
        "needs cp ranks with different tokens: no reduction of gradients over them was recorded, "
        "and theirs are equal without one");
  Finding f = finding(
      "No reduction of gradients over the cp ranks was recorded; theirs are equal, "
      "and that of " +
          scale.head.parameter + " is " + describeSignificant(scale.head.factor, 4) +
          " times the one that follows from the recorded logits and labels of all "
          "ranks.",
      true);
  f.place = {scale.train_step, Layer::none(), Direction::kBackward, {}};
  f.buffer = "grad." + scale.head.parameter;
  return found(std::move(f));
}

}  // namespace

RuleResult checkMissingCpGradReduce(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  const ReplicaDrift grads = readDrift(trace, TensorKind::kGradient);
  const ReplicaDrift weights = readDrift(trace, TensorKind::kWeight);
  if (grads.parameters == 0) return notObservable("needs the hashes of gradients after the sync");
  if (grads.differing == 0 && areEqualWithoutSum(trace)) return ofEqualRanks(trace);
  if (grads.differing == 0) return clear();
  return found(finding(grads, weights, reductionIn(trace, grads.first->place.train_step)));
}

}  // namespace ringscope::traces
