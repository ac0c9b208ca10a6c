// SPDX-License-Identifier: Apache-2.0
// After gradient sync every cp rank must hold the same gradients, and after the step the same
// weights.
#include <cmath>
#include <map>

#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// The same parameter in the same training step, as each rank has it.
using ByParameter =
    std::map<std::pair<std::int32_t, std::string>, std::vector<const TensorRecord*>>;

ByParameter collect(const Trace& trace, const std::string& prefix) {
  ByParameter found;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.name.starts_with(prefix))
      found[{tensor.place.train_step, tensor.name}].push_back(&tensor);
  return found;
}

struct Drift {
  int parameters = 0;
  int differing = 0;
  const TensorRecord* first = nullptr;
  double ratio = 1;  // largest against smallest abs_max of one parameter
};

Drift drift(const ByParameter& parameters) {
  Drift result;
  for (const auto& [key, ranks] : parameters) {
    if (ranks.size() < 2 || key.first != parameters.begin()->first.first) continue;
    ++result.parameters;
    double low = ranks.front()->stats.abs_max, high = low;
    bool differs = false;
    for (const TensorRecord* tensor : ranks) {
      differs = differs || tensor->hash != ranks.front()->hash;
      low = std::min(low, tensor->stats.abs_max);
      high = std::max(high, tensor->stats.abs_max);
    }
    if (!differs) continue;
    ++result.differing;
    if (!result.first) result.first = ranks[1];
    if (low > 0) result.ratio = std::max(result.ratio, high / low);
  }
  return result;
}

bool gradientsWereReduced(const Trace& trace) {
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Event& event : trace.events(rank))
      if (event.kind == EventKind::kGradSync && event.payload == Payload::kGrads && event.bytes > 0)
        return true;
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
  f.buffer = grads.first->name;
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.3g", grads.ratio);
  f.evidence =
      std::to_string(grads.differing) + " of " + std::to_string(grads.parameters) +
      " gradients differ between cp ranks after the sync (largest entries by a factor of up to " +
      ratio + "), and " + std::to_string(weights.differing) + " of " +
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
  if (trace.run().value("cp", 0) == 1) return clear();
  const Drift grads = drift(collect(trace, "grad."));
  const Drift weights = drift(collect(trace, "weight."));
  if (grads.parameters == 0)
    return notObservable(
        "needs the hashes of gradients after the sync; --capture stats records them");
  return grads.differing == 0 ? clear()
                              : found(finding(grads, weights, gradientsWereReduced(trace)));
}

}  // namespace ringscope::traces
