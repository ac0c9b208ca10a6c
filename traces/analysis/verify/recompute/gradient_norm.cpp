// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/gradient_norm.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/analysis/verify/rounding/roundoff.h"
#include "traces/format/trace/capture_advice.h"

namespace ringscope::traces {
namespace {

bool isOfKeysOrValues(const std::string& name) {
  return name.find(".k_proj.") != std::string::npos || name.find(".v_proj.") != std::string::npos;
}

/// Reports whether each tp rank has a part of its own of a parameter. Two parts may still be equal:
/// if a query attends a single key, heads that share this key give o_proj the same columns.
bool isAlwaysCut(const std::string& name) {
  for (const char* cut : {"q_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens"})
    if (name.ends_with(std::string(cut) + ".weight")) return true;
  return name.ends_with("lm_head.weight") || name.ends_with(".q_proj.bias") ||
         name.ends_with(".self_attn.sinks");
}

/// Returns a number that identifies a part of a parameter among tp ranks; replicas have equal
/// numbers. `tp_rank` out of `tp` ranks holds the part.
std::uint64_t partFor(const Trace& trace, const TensorRecord& tensor, std::size_t tp_rank,
                      std::size_t tp) {
  const std::string& name = tensor.tensor.name;
  if (isAlwaysCut(name)) return tp_rank;
  if (isOfKeysOrValues(name)) {
    const std::int64_t heads = trace.run() ? trace.run()->model.kv_heads : 0;
    if (heads > 0) return tp_rank / std::max<std::size_t>(1, tp / static_cast<std::size_t>(heads));
    return tensor.hash;
  }
  // The weights of norms and the output's bias are whole on every tp rank. Equal parts of an
  // unknown parameter count as replicas.
  return tensor.shape.size() == 1 ? 0 : tensor.hash;
}

}  // namespace

GradientNorms gradientNorms(const Trace& trace, std::int32_t train_step) {
  if (trace.worldSize() == 0) throw MissingValue{"no gradient is recorded"};
  const Place place = afterLayers(train_step);
  std::set<std::pair<std::string, std::uint64_t>> counted;
  double once = 0, held = 0;
  const std::vector<WorldRank> ranks = tpRanks(trace, WorldRank::of(0));
  for (std::size_t tp_rank = 0; tp_rank < ranks.size(); ++tp_rank) {
    const WorldRank rank = ranks[tp_rank];
    bool any = false;
    for (const TensorRecord& tensor : trace.tensors()) {
      if (tensor.tensor.kind != TensorKind::kGradient || tensor.rank != rank ||
          !(tensor.place == place))
        continue;
      any = true;
      double squares = 0;
      for (const double value : recordedValues(trace, tensor.tensor, place, rank).values)
        squares += value * value;
      held += squares;
      if (counted.emplace(tensor.tensor.name, partFor(trace, tensor, tp_rank, ranks.size())).second)
        once += squares;
    }
    if (!any)
      throw MissingValue{"no gradient of this training step is recorded of rank " + toString(rank) +
                         "; " + captureAdvice(trace, "full", "records them")};
  }
  return {std::sqrt(once), std::sqrt(held)};
}

Rounded roundedNorm(double norm) {
  return {norm, 4 * kRoundingLambda * unitRoundoff(DType::kFloat32) * norm};
}

ScalarCheck checkGradientNorm(const Trace& trace, std::int32_t train_step) {
  return checkLogged(trace, train_step, "grad_norm",
                     [&] { return roundedNorm(gradientNorms(trace, train_step).once); });
}

}  // namespace ringscope::traces
