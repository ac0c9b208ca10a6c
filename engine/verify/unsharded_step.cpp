// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/unsharded_step.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

UnshardedStep UnshardedStep::run(const LlamaConfig& config, const LlamaWeights& weights,
                                 const Batch& batch, AttentionOp& attention, at::ScalarType type,
                                 at::ScalarType rotary_type) {
  const LlamaWeights replica = weights.replica(type);
  replica.zeroGradients();
  LlamaOptions options;
  options.rotary_type = rotary_type;
  LlamaModel model(
      config, replica, attention,
      [](traces::EventKind, Layer, traces::Direction, const std::function<void()>& work) {
        work();
      },
      options);
  UnshardedStep step;
  step.logits = model.forward(batch.input_ids, batch.position_ids);
  const auto targets = static_cast<double>((batch.labels >= 0).sum().item<std::int64_t>());
  const double scale = targets > 0 ? 1.0 / targets : 0.0;
  step.loss = model.lossSum(batch.labels).item<double>() * scale;
  model.backward(scale);
  step.layers = model.attention();
  for (Layer layer = Layer::of(0); layer.index() < step.layers.size(); layer = layer.next())
    step.input_squares.push_back(
        at::square(weights.ofLayer(layer, "input_layernorm.weight").to(at::kDouble))
            .sum()
            .item<double>());
  for (const std::string& name : replica.names()) step.gradients[name] = replica[name].grad();
  return step;
}

}  // namespace ringscope::engine
