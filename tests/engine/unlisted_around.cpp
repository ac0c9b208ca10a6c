// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/model/llama_weights.h"
#include "tests/engine/unlisted_mistakes.h"

namespace ringscope::engine::test {
namespace {

using traces::Balance;
using traces::Direction;
using traces::Layer;

constexpr const char* kQueries = "model.layers.1.self_attn.q_proj.weight";
constexpr const char* kDown = "model.layers.1.mlp.down_proj.weight";

void lossOfRankHalved(Seams& seams) {
  seams.loss.reduce = [](const SeamPlace& at, MeshGroups& groups, const LocalLoss& local) {
    ReducedLoss reduced = LossSeams::meanOverTargets(at, groups, local);
    if (at.worldRank() == WorldRank::of(2)) reduced.scale /= 2;
    return reduced;
  };
}

void positionsOneAhead(Seams& seams) {
  extend(seams.buffers.sharded, [](const SeamPlace& at, Batch& local) {
    if (at.worldRank() == WorldRank::of(1)) local.position_ids = local.position_ids + 1;
  });
}

/// Adds one rank's part of a square parameter's gradient transposed.
void gradientTransposed(Seams& seams) {
  extend(seams.gradients.local, [](const SeamPlace& at, at::Tensor& flat, double) {
    if (at.worldRank() != WorldRank::of(1)) return;
    const LlamaConfig model;
    const LlamaWeights weights = LlamaWeights::random(model, 0, at::kFloat);
    std::int64_t begin = 0;
    for (auto name = weights.names().begin(); *name != kQueries; ++name)
      begin += weights[*name].numel();
    const std::int64_t width = model.hidden_size;
    at::Tensor part = flat.slice(0, begin, begin + width * width).view({width, width});
    part.copy_(part.t().clone());
  });
}

/// Leaves out a parameter where one rank's optimizer gets the gradients.
void updateLost(Seams& seams) {
  seams.gradients.clip = [correct = seams.gradients.clip](const SeamPlace& at, Gradients& gradients,
                                                          double norm, double max_norm) {
    correct(at, gradients, norm, max_norm);
    if (at.worldRank() == WorldRank::of(2)) gradients.at(kDown).zero_();
  };
}

/// Treats one token's embedding as padding.
void embeddingOfTokenLost(Seams& seams) {
  extend(seams.model.embedded, [](const SeamPlace& at, at::Tensor& embedded) {
    if (at.worldRank() != WorldRank::of(3)) return;
    at::Tensor keep = at::ones({1, embedded.size(1), 1}, embedded.options());
    keep.select(1, 5).zero_();
    embedded = embedded * keep;
  });
}

}  // namespace

const std::vector<Unlisted>& unlistedAroundAttention() {
  static const std::vector<Unlisted> kAll = {
      {"LossOfRankHalved",
       [](TrainConfig& c) {
         c.cp = c.dp = c.batch = 2;
         c.balance = Balance::kNone;
       },
       lossOfRankHalved, WorldRank::of(2), Layer::of(1), Direction::kBackward},
      {"PositionsOneAhead", [](TrainConfig&) {}, positionsOneAhead, WorldRank::of(1),
       Layer::none()},
      {"GradientTransposed",
       [](TrainConfig& c) {
         c.cp = 2;
         c.balance = Balance::kNone;
       },
       gradientTransposed, WorldRank::none(), Layer::none(), Direction::kBackward, RingStep::none(),
       kQueries},
      {"UpdateLost", [](TrainConfig& c) { c.steps = 2; }, updateLost, WorldRank::of(2),
       Layer::none(), Direction::kBackward, RingStep::none(), kDown},
      {"EmbeddingOfTokenLost", [](TrainConfig& c) { c.cp = c.tp = 2; }, embeddingOfTokenLost,
       WorldRank::of(3), Layer::of(0)},
  };
  return kAll;
}

}  // namespace ringscope::engine::test
