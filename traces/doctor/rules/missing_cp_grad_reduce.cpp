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

bool gradientsWereReduced(const Trace& trace) {
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(WorldRank::of(rank))) {
      const bool sums = event.kind == EventKind::kGradSync || event.kind == EventKind::kCollective;
      if (sums && event.payload == Payload::kGrads && event.bytes > 0 && !isOverTp(trace, event))
        return true;
    }
  return false;
}

Finding finding(const ReplicaDrift& grads, const ReplicaDrift& weights, bool reduced) {
  Finding f;
  f.rule = "missing_cp_grad_reduce";
  f.severity = "error";
  f.confidence = reduced ? "likely" : "certain";
  f.title = "Gradients are not reduced over the cp ranks";
  f.place = grads.first->place;
  f.rank = grads.first->rank;
  f.buffer = grads.first->tensor.text();
  f.evidence =
      std::to_string(grads.differing) + " of " + std::to_string(grads.parameters) +
      " gradients differ between cp ranks after the sync (largest entries by a factor of up to " +
      describeSignificant(grads.ratio, 3) + "), and " + std::to_string(weights.differing) + " of " +
      std::to_string(weights.parameters) + " weights differ after the step; " +
      (reduced ? "a reduction of gradients was recorded, but not over these ranks."
               : "no reduction of gradients was recorded.");
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
  return grads.differing == 0 ? clear()
                              : found(finding(grads, weights, gradientsWereReduced(trace)));
}

}  // namespace ringscope::traces
