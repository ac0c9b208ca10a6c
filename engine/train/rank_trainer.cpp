// SPDX-License-Identifier: Apache-2.0
#include "engine/train/rank_trainer.h"

#include <ATen/ATen.h>

#include "engine/data/sharded_batch.h"
#include "engine/parallel/gradients.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Place;

namespace {

LlamaWeights replicaForRank(const LlamaWeights& initial, at::ScalarType type) {
  const MemoryScope scope(MemoryCategory::kWeights);
  return initial.replica(type);
}

}  // namespace

RankTrainer::RankTrainer(RankContext& context, const TrainSetup& setup, const LlamaWeights& initial)
    : context_(context),
      setup_(setup),
      weights_(replicaForRank(initial, setup.type)),
      attention_(makeAttention(context, setup.config.attention, setup.layout, setup.config.mask,
                               Softmax{setup.model.attentionScale(), {}},
                               setup.model.num_attention_heads)),
      model_(setup.model, weights_, *attention_,
             [this](EventKind kind, int layer, Direction direction,
                    const std::function<void()>& work) {
               const Place place{train_step_, static_cast<std::int16_t>(layer), direction, -1};
               context_.arriveAt(place);
               const StageScope scope(context_.observer, kind, place);
               const MemoryScope memory(MemoryCategory::kActivations);
               work();
             }),
      optimizer_(weights_, setup.config.optimizer) {}

RankTrainer::Result RankTrainer::computeGradients(std::int32_t train_step) {
  train_step_ = train_step;
  attention_->setTrainStep(train_step);
  Observer& observer = context_.observer;
  const Place begin{train_step};
  Batch local;
  {
    const StageScope scope(observer, EventKind::kShard, begin);
    local = shardBatch(setup_.batches.batch(train_step), context_.seams.sharded_buffers,
                       setup_.layout, observer, train_step);
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
  context_.cp.allReduceSum(totals);
  result.targets = static_cast<std::int64_t>(totals[1].item<double>());
  const double scale = result.targets > 0 ? 1.0 / static_cast<double>(result.targets) : 0.0;
  result.loss = totals[0].item<double>() * scale;
  model_.backward(scale);
  recordAttention(train_step);
  syncGradients(weights_, context_, {train_step, -1, Direction::kBackward});
  for (const std::string& name : weights_.names())
    observer.tensor("grad." + name, {train_step, -1, Direction::kBackward}, weights_[name].grad());
  return result;
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
  RankStep step{model_.attention(), {}};
  for (const std::string& name : weights_.names())
    step.gradients[name] = weights_[name].grad().clone();
  return step;
}

double RankTrainer::update(std::int32_t train_step) {
  const Place place{train_step, -1, Direction::kBackward, -1};
  double norm = 0;
  {
    const StageScope scope(context_.observer, EventKind::kClip, place);
    norm = gradientNorm(weights_);
    clipGradients(weights_, norm, setup_.config.max_norm);
  }
  {
    const StageScope scope(context_.observer, EventKind::kOptimizer, place);
    optimizer_.step();
  }
  for (const std::string& name : weights_.names())
    context_.observer.tensor("weight." + name, place, weights_[name].detach());
  return norm;
}

}  // namespace ringscope::engine
