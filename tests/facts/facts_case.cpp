// SPDX-License-Identifier: Apache-2.0
#include "tests/facts/facts_case.h"

#include <ATen/ATen.h>

#include "tests/facts/drawing.h"

namespace ringscope::facts {

using traces::TensorKind;
using traces::WorldRank;

namespace {

/// Puts what the ranks of a group recorded of a tensor into the order of the sequence.
bool gather(const Case& c, TensorKind kind, const traces::Place& place, int group,
            std::vector<double>& whole, const Numbers& n, int heads) {
  whole.assign(static_cast<std::size_t>(n.batch * heads * n.length * n.width), 0);
  const PlanOracle& oracle = c.oracle(place.train_step, group);
  for (int rank = 0; rank < c.cp; ++rank) {
    const auto* record =
        c.trace->findTensor({kind, ""}, place, WorldRank::of(c.worldRankFor(group, rank)));
    const auto values = record ? c.trace->values(*record) : std::nullopt;
    const auto& tokens = oracle.own(rank);
    if (!values || values->size() * static_cast<std::size_t>(c.cp) != whole.size()) return false;
    auto value = values->begin();
    for (int row = 0; row < n.batch * heads; ++row)
      for (const int token : tokens)
        for (int d = 0; d < n.width; ++d)
          whole[static_cast<std::size_t>((row * n.length + token) * n.width + d)] = *value++;
  }
  return true;
}

}  // namespace

std::optional<Numbers> Case::numbers(int step, int layer, int group) const {
  if (given) return given;
  const Plan& plan = oracle(step, group).plan();
  Numbers n;
  n.batch = plan.batch;
  n.heads = plan.heads / tp;
  n.kv_heads = oracle(step, group).kvHeadsOfRank();
  n.width = plan.width;
  n.length = plan.length;
  n.scale = 1 / std::sqrt(plan.width);
  const traces::Place place{step, traces::Layer::of(layer), traces::Direction::kForward,
                            traces::RingStep::none()};
  if (!gather(*this, TensorKind::kQ, place, group, n.q, n, n.heads) ||
      !gather(*this, TensorKind::kK, place, group, n.k, n, n.kv_heads) ||
      !gather(*this, TensorKind::kV, place, group, n.v, n, n.kv_heads))
    return std::nullopt;
  return n;
}

Case drawnCase(std::mt19937& random) {
  return random() % 4 == 0 ? drawnTraining(random) : drawnAttention(random);
}

}  // namespace ringscope::facts
