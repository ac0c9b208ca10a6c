// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/commands/bench_verdict_gradients.h"

#include <ATen/ATen.h>

#include "app/ringscope-engine/commands/tiled_attention.h"
#include "engine/verify/blocked_attention.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/step_ends.h"

namespace ringscope::app {
namespace {

using engine::UnshardedStep;

constexpr std::int64_t kSequences = 3, kMostTokens = 512;

/// A model, a batch, and the mask of a training step.
struct Step {
  engine::LlamaConfig config;
  engine::LlamaWeights weights;
  engine::Batch batch;
  engine::Mask mask;
};

Step randomStep(const GradientType& type, std::int64_t longest, std::mt19937& random) {
  engine::LlamaConfig config;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.head_dim = 16;
  std::int64_t length = 64;
  while (length < std::min(longest, kMostTokens) && random() % 2) length *= 2;
  engine::Batch batch;
  batch.input_ids = at::randint(config.vocab_size, {kSequences, length}, at::kLong);
  batch.labels = at::randint(config.vocab_size, {kSequences, length}, at::kLong);
  batch.position_ids = at::arange(length, at::kLong).expand({kSequences, length}).contiguous();
  const auto window = 1 + static_cast<std::int64_t>(random()) % length;
  return {config, engine::LlamaWeights::random(config, random(), type.type), batch,
          random() % 2 ? engine::Mask::causalMask() : engine::Mask::slidingWindow(window)};
}

/// Runs the step on one device with random tilings of attention and a random order of the
/// sequences.
UnshardedStep ofOneDevice(const Step& step, const GradientType& type, std::mt19937& random) {
  const std::int64_t length = step.batch.input_ids.size(1);
  TiledAttention attention(step.mask, length, step.config.scoreRule().scale, type.type, type.fp8,
                           random);
  const at::Tensor order = at::randperm(kSequences, at::kLong);
  engine::Batch batch = step.batch;
  for (at::Tensor* t : {&batch.input_ids, &batch.labels, &batch.position_ids})
    *t = t->index_select(0, order);
  UnshardedStep done =
      UnshardedStep::run(step.config, step.weights, batch, attention, type.type, type.type);
  const at::Tensor back = order.argsort();
  for (engine::LayerAttention& layer : done.layers)
    for (const auto result :
         {&engine::LayerAttention::out, &engine::LayerAttention::lse, &engine::LayerAttention::dq,
          &engine::LayerAttention::dk, &engine::LayerAttention::dv})
      layer.*result = (layer.*result).index_select(0, back);
  return done;
}

/// Runs a step whose attention goes through the blocks of a ring. Unlike a ring, it sums the
/// gradients of all tokens at once.
UnshardedStep ofRing(const Step& step, const GradientType& type,
                     const engine::ShardLayout& layout) {
  engine::BlockedAttention attention(layout, step.mask, step.config.scoreRule(), type.fp8);
  return UnshardedStep::run(step.config, step.weights, step.batch, attention, type.type, type.type);
}

/// Returns copies of a parameter's gradient, [N, D] or [N], in which every row is wrong as a
/// mistake would make it.
std::vector<Alteration> alteredGradients(const at::Tensor& gradient, std::int64_t head_size) {
  const std::int64_t half = std::max<std::int64_t>(1, gradient.size(0) / 2);
  return {{"zeroed", at::zeros_like(gradient)},
          {"1 % too large", gradient * 1.01},
          {"of its neighbour", at::roll(gradient, 1, 0)},
          {"of another head", at::roll(gradient, head_size, 0)},
          {"of another rank", at::roll(gradient, half, 0)}};
}

}  // namespace

void judgeGradients(const GradientType& type, const BenchOptions& options, std::mt19937& random,
                    VerdictTally& tally) {
  const Step step = randomStep(type, options.length, random);
  const std::int64_t length = step.batch.input_ids.size(1);
  const int cp = options.ranks.empty() ? 1 : options.ranks[random() % options.ranks.size()];
  const engine::ShardLayout layout(length, cp);
  const engine::StepVerifier verifier(step.config, layout, {.mask = step.mask}, type.type,
                                      type.fp8);
  const UnshardedStep actual =
      cp > 1 ? ofRing(step, type, layout) : ofOneDevice(step, type, random);
  const auto unsharded = verifier.unsharded(step.weights, step.batch, actual.layers);
  const UnshardedStep& exact = unsharded.exact;
  std::vector<engine::AttentionVariance> variances;
  for (const engine::LayerAttention& layer : exact.layers)
    variances.push_back(engine::attentionVariance(layer, step.mask,
                                                  engine::MergedBlocks::of(layout, step.mask),
                                                  step.config.scoreRule(), type.type));
  std::map<std::string, at::Tensor> largest;
  for (int i = 0; i < options.runs; ++i) {
    const UnshardedStep run = i == 0 ? unsharded.device : ofOneDevice(step, type, random);
    for (const auto& [name, gradient] : run.gradients) {
      const at::Tensor errors = engine::rowErrors(gradient, exact.gradients.at(name));
      at::Tensor& most = largest[name];
      most = most.defined() ? at::maximum(most, errors) : errors;
    }
  }
  double worst = 0;
  for (const auto& [name, gradient] : actual.gradients) {
    const auto held_to = engine::gradientReferences(name, unsharded, variances);
    traces::DiffRecord diff;
    engine::measureRows(diff, gradient, held_to);
    worst = diff.ratio <= worst ? worst : diff.ratio;  // NaN counts as worst
    tally.countAltered({"gradient", length, gradient, held_to, largest.at(name)},
                       alteredGradients(gradient, step.config.head_dim));
  }
  tally.countRun(worst);
}

}  // namespace ringscope::app
