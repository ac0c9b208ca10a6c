// SPDX-License-Identifier: Apache-2.0
#include "engine/train/rank_trainer.h"

#include <ATen/ATen.h>

#include "engine/data/sharded_batch.h"
#include "engine/parallel/gradients.h"
#include "traces/core/error.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Place;

namespace {

LlamaWeights replicaForRank(const LlamaWeights& initial, const TrainSetup& setup,
                            const TensorParallel& tp, at::Device device) {
  const MemoryScope scope(MemoryCategory::kWeights);
  return initial.replica(
      setup.type,
      [&](const std::string& name, const at::Tensor& full) {
        return tp.sliceOf(name, full, setup.model);
      },
      device);
}

}  // namespace

RankTrainer::RankTrainer(RankContext& context, const TrainSetup& setup, const LlamaWeights& initial)
    : context_(context),
      setup_(setup),
      tp_(context.groups.tp()),
      weights_(replicaForRank(initial, setup, tp_, context.device)),
      attention_(setup.config.mask,
                 [this](const Mask& mask) {
                   return makeAttention(context_, setup_.config.attention, setup_.layout, mask,
                                        Softmax{setup_.model.attentionScale(), {}},
                                        setup_.model.num_attention_heads / tp_.size());
                 }),
      model_(
          setup.model, weights_, attention_,
          [this](EventKind kind, int layer, Direction direction,
                 const std::function<void()>& work) {
            const Place place{train_step_, static_cast<std::int16_t>(layer), direction, -1};
            context_.arriveAt(place);
            const StageScope scope(context_.observer, kind, place);
            const MemoryScope memory(MemoryCategory::kActivations);
            work();
          },
          LlamaOptions{tp_, setup.config.recompute}),
      optimizer_(weights_, setup.config.optimizer) {}

RankTrainer::Result RankTrainer::computeGradients(std::int32_t train_step) {
  train_step_ = train_step;
  if (context_.switches) context_.seams = context_.switches->seamsOf(train_step);
  Observer& observer = context_.observer;
  const Place begin{train_step};
  const Batch own = ownSequences(setup_.batches.batch(train_step));
  attention_.begin(train_step, own);
  Batch local;
  {
    const StageScope scope(observer, EventKind::kShard, begin);
    local = shardBatch(own, context_.seams.sharded_buffers, setup_.layout, context_.rank(),
                       observer, train_step)
                .on(context_.device);
  }
  observer.tensor("position_ids", begin, local.position_ids);
  zeroGradients(weights_);
  Result result;
  result.logits = model_.forward(local.input_ids, local.position_ids);
  observer.tensor("logits", begin, result.logits);
  observer.tensor("cos", begin, model_.rotary().cos);
  observer.tensor("sin", begin, model_.rotary().sin);
  const at::Tensor loss_sum = model_.lossSum(local.labels);
  at::Tensor totals =
      at::tensor({loss_sum.item<double>(),
                  static_cast<double>((local.labels >= 0).sum().item<std::int64_t>())},
                 at::kDouble);
  context_.groups.dpCp().allReduceSum(totals);
  result.targets = static_cast<std::int64_t>(totals[1].item<double>());
  const double scale = result.targets > 0 ? 1.0 / static_cast<double>(result.targets) : 0.0;
  result.loss = totals[0].item<double>() * scale;
  model_.backward(scale);
  recordAttention(train_step);
  gradients_ =
      syncGradients(weights_, setup_.model, tp_, context_, {train_step, -1, Direction::kBackward});
  for (const auto& [name, grad] : gradients_)
    observer.tensor("grad." + name, {train_step, -1, Direction::kBackward}, grad);
  return result;
}

Batch RankTrainer::ownSequences(const Batch& batch) const {
  const std::int64_t count = batch.input_ids.size(0) / context_.groups.mesh().dp;
  const int dp = context_.groups.place().dp;
  return batch.sequences(dp * count, (dp + 1) * count);
}

NamedTensors RankTrainer::state() const {
  NamedTensors state;
  for (const auto& [name, weight] : weights_.values()) state["weight." + name] = weight;
  for (const auto& [name, tensor] : optimizer_.state()) state[name] = tensor;
  return state;
}

at::Tensor RankTrainer::resliced(const std::string& key,
                                 const std::vector<NamedTensors>& of_tp_ranks) const {
  const std::string name = key.substr(key.find('.') + 1);
  std::vector<at::Tensor> slices;
  for (const NamedTensors& rank : of_tp_ranks) {
    const auto found = rank.find(key);
    if (found == rank.end())
      throw inputError("the checkpoint has no '" + key +
                       "'; it is of another model or of another --dtype");
    slices.push_back(found->second);
  }
  return tp_.sliceOf(name, TensorParallel::joined(name, slices, setup_.model), setup_.model);
}

void RankTrainer::restore(const CheckpointStore& store, const CheckpointInfo& info) {
  const bool same_layout = info.mesh == context_.groups.mesh();
  std::vector<NamedTensors> saved;
  if (same_layout)
    saved.push_back(store.load(info, context_.worldRank()));
  else
    for (int tp = 0; tp < info.mesh.tp; ++tp)
      saved.push_back(store.load(info, info.mesh.rankOf({0, tp, 0})));
  for (auto& [key, own] : state()) {
    const auto found = saved.front().find(key);
    const at::Tensor value =
        same_layout && found != saved.front().end() ? found->second : resliced(key, saved);
    if (value.sizes() != own.sizes() || value.scalar_type() != own.scalar_type())
      throw inputError("the checkpoint's '" + key + "' does not fit this model");
    at::Tensor(own).copy_(value);
  }
  optimizer_.setSteps(info.optimizer_steps);
}

void RankTrainer::recordAttention(std::int32_t train_step) {
  Observer& observer = context_.observer;
  for (std::size_t l = 0; l < model_.attention().size(); ++l) {
    const LayerAttention& a = model_.attention()[l];
    const Place forward{train_step, static_cast<std::int16_t>(l), Direction::kForward, -1};
    const Place backward{train_step, static_cast<std::int16_t>(l), Direction::kBackward, -1};
    observer.tensor("q", forward, a.q);
    observer.tensor("k", forward, a.k);
    observer.tensor("v", forward, a.v);
    observer.tensor("out", forward, a.out);
    observer.tensor("lse", forward, a.lse);
    observer.tensor("dout", backward, a.dout);
    observer.tensor("dq", backward, a.dq);
    observer.tensor("dk", backward, a.dk);
    observer.tensor("dv", backward, a.dv);
  }
}

RankStep RankTrainer::report() const {
  return {model_.attention(), gradients_};
}

double RankTrainer::update(std::int32_t train_step) {
  const Place place{train_step, -1, Direction::kBackward, -1};
  double norm = 0;
  {
    const StageScope scope(context_.observer, EventKind::kClip, place);
    norm = gradientNorm(gradients_, setup_.model, tp_, context_);
    clipGradients(gradients_, norm, setup_.config.max_norm);
  }
  {
    const StageScope scope(context_.observer, EventKind::kOptimizer, place);
    optimizer_.step(gradients_);
  }
  gradients_.clear();
  for (const auto& [name, weight] : weights_.values())
    context_.observer.tensor("weight." + name, place, weight);
  return norm;
}

}  // namespace ringscope::engine
