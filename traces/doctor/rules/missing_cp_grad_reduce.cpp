// SPDX-License-Identifier: Apache-2.0
// After gradient sync every cp rank must hold the same gradients, and after the step the same
// weights.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "traces/core/prose.h"
#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// The same slice of the same parameter in the same training step, as each rank has it: tp ranks
/// hold other slices, so only those of one dp × cp group are compared.
struct Slice {
  std::int32_t train_step;
  std::string parameter;
  std::int32_t group;
  bool operator<(const Slice& other) const {
    return std::tie(train_step, parameter, group) <
           std::tie(other.train_step, other.parameter, other.group);
  }
};
using ByParameter = std::map<Slice, std::vector<const TensorRecord*>>;

ByParameter collect(const Trace& trace, TensorKind kind) {
  ByParameter found;
  const bool all_share = trace.run() && trace.run()->tp == 1;  // where groups are not recorded
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != kind) continue;
    const GroupRecord* group = trace.groupOf(tensor.rank, GroupAxis::kDpCp);
    if (!group && !all_share) continue;
    found[{tensor.place.train_step, tensor.tensor.name, group ? group->id.value() : -1}].push_back(
        &tensor);
  }
  return found;
}

struct Drift {
  int parameters = 0;
  int differing = 0;
  const TensorRecord* first = nullptr;
  double ratio = 1;  // largest against smallest abs_max of one parameter
};

/// Over the first training step in which anything differs, or all when nothing does.
Drift drift(const ByParameter& parameters) {
  Drift result;
  for (const auto& [slice, ranks] : parameters) {
    if (result.first && slice.train_step != result.first->place.train_step) break;
    if (ranks.size() < 2) continue;
    ++result.parameters;
    double low = ranks.front()->stats.abs_max, high = low;
    const TensorRecord* other = nullptr;
    for (const TensorRecord* tensor : ranks) {
      if (!other && tensor->hash != ranks.front()->hash) other = tensor;
      low = std::min(low, tensor->stats.abs_max);
      high = std::max(high, tensor->stats.abs_max);
    }
    if (!other) continue;
    ++result.differing;
    if (!result.first) result.first = other;
    if (low > 0) result.ratio = std::max(result.ratio, high / low);
  }
  return result;
}

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

Finding finding(const Drift& grads, const Drift& weights, bool reduced) {
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
  const Drift grads = drift(collect(trace, TensorKind::kGradient));
  const Drift weights = drift(collect(trace, TensorKind::kWeight));
  if (grads.parameters == 0) return notObservable("needs the hashes of gradients after the sync");
  return grads.differing == 0 ? clear()
                              : found(finding(grads, weights, gradientsWereReduced(trace)));
}

}  // namespace ringscope::traces
