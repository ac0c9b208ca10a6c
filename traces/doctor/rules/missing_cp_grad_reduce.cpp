// SPDX-License-Identifier: Apache-2.0
// After gradient sync every cp rank must hold the same gradients, and after the step the same
// weights.
#include <algorithm>

#include "traces/core/prose.h"
#include "traces/doctor/replica_drift.h"
#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// What tp ranks add up is of parameters that they hold alike, and no sum over tokens.
bool isOverTp(const Trace& trace, const Event& event) {
  const auto group = std::ranges::find(trace.groups(), event.group, &GroupRecord::id);
  return group != trace.groups().end() && group->axis == GroupAxis::kTp;
}

enum class Reduction { kUnknown, kNone, kSome };

/// In one training step; unknown where no event of it was recorded.
Reduction reductionIn(const Trace& trace, std::int32_t train_step) {
  Reduction found = Reduction::kUnknown;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      if (event.place.train_step != train_step) continue;
      if (found == Reduction::kUnknown) found = Reduction::kNone;
      const bool sums = event.kind == EventKind::kGradSync || event.kind == EventKind::kCollective;
      if (sums && event.payload == Payload::kGrads && event.bytes > 0 && !isOverTp(trace, event))
        return Reduction::kSome;
    }
  return found;
}

const char* describe(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSome:
      return "a reduction of gradients was recorded, but not over these ranks.";
    case Reduction::kNone:
      return "no reduction of gradients was recorded.";
    case Reduction::kUnknown:
      return "which gradients were summed in this training step was not recorded.";
  }
  return "";
}

Finding finding(const ReplicaDrift& grads, const ReplicaDrift& weights, Reduction reduction) {
  Finding f;
  f.rule = "missing_cp_grad_reduce";
  f.severity = "error";
  f.confidence = reduction == Reduction::kNone ? "certain" : "likely";
  f.title = "Gradients are not reduced over the cp ranks";
  f.place = grads.first->place;
  f.rank = grads.first->rank;
  f.buffer = grads.first->tensor.text();
  f.evidence =
      std::to_string(grads.differing) + " of " + std::to_string(grads.parameters) +
      " gradients differ between cp ranks after the sync (largest entries by a factor of up to " +
      describeSignificant(grads.ratio, 3) + "), and " + std::to_string(weights.differing) + " of " +
      std::to_string(weights.parameters) + " weights differ after the step; " + describe(reduction);
  f.remedy =
      "Every cp rank saw other tokens, so its gradients are a part of the whole: all-reduce them "
      "over "
      "dp×cp (mesh[('dp', 'cp')]._flatten()) before clipping, not over dp alone.";
  return f;
}

}  // namespace

RuleResult checkMissingCpGradReduce(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return clear();
  const ReplicaDrift grads = readDrift(trace, TensorKind::kGradient);
  const ReplicaDrift weights = readDrift(trace, TensorKind::kWeight);
  if (grads.parameters == 0) return notObservable("needs the hashes of gradients after the sync");
  if (grads.differing == 0) return clear();
  return found(finding(grads, weights, reductionIn(trace, grads.first->place.train_step)));
}

}  // namespace ringscope::traces
