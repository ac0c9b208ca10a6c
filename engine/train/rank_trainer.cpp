// SPDX-License-Identifier: Apache-2.0
#include "engine/train/rank_trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "engine/data/batch_layout.h"
#include "engine/data/sharded_batch.h"
#include "engine/train/gradients.h"
#include "traces/format/core/error.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {

using traces::Direction;
using traces::EventKind;
using traces::Place;
using traces::TensorKind;

namespace {

/// Returns the place of work on the gradients of all layers.
Place afterLayers(std::int32_t train_step) {
  return {train_step, Layer::none(), Direction::kBackward, {}};
}

LlamaWeights replicaForRank(const LlamaWeights& initial, const TrainSetup& setup,
                            const LlamaSlices& slices, at::Device device) {
  const MemoryScope scope(MemoryCategory::kWeights);
  return initial.replica(
      setup.type,
      [&](const std::string& name, const at::Tensor& full) { return slices.of(name, full); },
      device);
}

}  // namespace

RankTrainer::RankTrainer(RankContext& context, const TrainSetup& setup, const LlamaWeights& initial)
    : context_(context),
      setup_(setup),
      tp_(context.groups.tp()),
      slices_(tp_, setup.model),
      weights_(replicaForRank(initial, setup, slices_, context.device)),
      layout_(setup.layout),
      attention_(setup.masks, setup.model.num_hidden_layers,
                 [this](const Mask& mask, const std::vector<Layer>& layers) {
                   recordSchedules(context_, setup_.run, layout_, mask, train_step_, layers);
                   return makeAttention(
                       context_, setup_.run, layout_, mask,
                       Softmax{setup_.model.scoreRule(), {setup_.run.dropout, setup_.run.seed}});
                 }),
      model_(
          setup.model, weights_, attention_,
          [this](EventKind kind, Layer layer, Direction direction,
                 const std::function<void()>& work) {
            const Place place{train_step_, layer, direction, {}};
            context_.arriveAt(place);
            const StageScope scope(context_.observer, kind, place);
            const MemoryScope memory(MemoryCategory::kActivations);
            work();
          },
          LlamaOptions{tp_, setup.run.recompute, modelHooks()}),
      optimizer_(weights_, {setup.run.lr, setup.run.weight_decay}) {}

RankTrainer::Result RankTrainer::computeGradients(std::int32_t train_step) {
  train_step_ = train_step;
  if (context_.switches) context_.seams = context_.switches->seamsFor(train_step);
  const Seams& seams = context_.seams;
  Observer& observer = context_.observer;
  const Place begin{train_step};
  const SeamPlace at = context_.seamPlace(begin);
  context_.place = begin;
  const Batch own = seams.data.batch(at, setup_.batches);
  layout_ = layoutFor(setup_.layout, own, 0);
  attention_.begin(train_step, own, context_.switches && context_.switches->changesAt(train_step));
  recordIntent(train_step);
  observer.tensor({TensorKind::kOther, traces::kWholeBatch}, begin, own.input_ids);
  Batch local;
  {
    const StageScope scope(observer, EventKind::kShard, begin);
    local = takeLocalPart(own, at).on(context_.device);
  }
  observer.tensor({TensorKind::kPositionIds}, begin, local.position_ids);
  weights_.zeroGradients();
  Result result;
  result.logits = model_.forward(local.input_ids, local.position_ids);
  observer.tensor({TensorKind::kLogits}, begin, result.logits);
  observer.tensor({TensorKind::kCos}, begin, model_.rotary().cos);
  observer.tensor({TensorKind::kSin}, begin, model_.rotary().sin);
  const at::Tensor loss_sum = model_.lossSum(local.labels);
  const LocalLoss own_loss{loss_sum.item<double>(), (local.labels >= 0).sum().item<std::int64_t>()};
  recordOwnLoss(begin, own_loss);
  const ReducedLoss reduced = seams.loss.reduce(at, context_.groups, own_loss);
  result.targets = reduced.targets;
  result.loss = seams.loss.logged(at, own_loss, reduced);
  model_.backward(reduced.scale);
  recordAttention(train_step);
  gradients_ = syncGradients(weights_, slices_, context_, afterLayers(train_step),
                             setup_.run.max_norm, setup_.run.verify ? &own_gradients_ : nullptr);
  for (const auto& [name, grad] : gradients_)
    observer.tensor({TensorKind::kGradient, name}, afterLayers(train_step), grad);
  return result;
}

Batch RankTrainer::takeLocalPart(const Batch& batch, const SeamPlace& at) {
  const BufferSeams& seams = context_.seams.buffers;
  std::vector<BufferCut> cuts = bufferCuts(traces::chosenBuffers(setup_.run), layout_);
  seams.cuts(at, cuts);
  Batch local = shardBatch(
      batch, cuts,
      [&](const BufferCut& cut, const at::Tensor& whole) { return seams.cut(at, cut, whole); },
      context_.rank(), context_.observer, train_step_);
  cutRotaryTable(cuts, at);
  const bool numbered = std::ranges::find(cuts, "position_ids", &BufferCut::buffer) != cuts.end();
  // Without position ids of their own, tokens have the positions of their rows in the table.
  if (rotary_rows_.defined() && !numbered)
    local.position_ids = rotary_rows_.expand_as(local.position_ids).contiguous();
  seams.sharded(at, local);
  recordBuffers(local, cuts, context_.observer, train_step_);
  return local;
}

void RankTrainer::cutRotaryTable(const std::vector<BufferCut>& cuts, const SeamPlace& at) {
  rotary_rows_ = at::Tensor();
  for (const BufferCut& cut : cuts) {
    if (cut.buffer != traces::kRotaryTable) continue;
    const std::int64_t rows = setup_.layout.length(), width = setup_.model.head_dim / 2;
    const at::Tensor whole = at::arange(rows, at::kLong);
    rotary_rows_ = context_.seams.buffers.cut(at, cut, whole);
    context_.observer.shard({cut.buffer,
                             train_step_,
                             context_.worldRank(),
                             true,
                             static_cast<std::int32_t>(cut.seq_dim),
                             {rows, width},
                             {rotary_rows_.size(0), width},
                             tokensOfPart(cut, whole, rotary_rows_, 0, context_.rank())});
  }
}

LlamaHooks RankTrainer::modelHooks() {
  const auto at = [this](Layer layer, Direction direction) {
    return context_.seamPlace({train_step_, layer, direction, {}});
  };
  return {[this, at](at::Tensor& of_cos, at::Tensor& of_sin) {
            if (rotary_rows_.defined())
              of_cos = of_sin = rotary_rows_.to(of_cos.device()).expand_as(of_cos);
            context_.seams.model.rotary(at(Layer::none(), Direction::kForward), of_cos, of_sin);
          },
          [this, at](at::Tensor& embedded) {
            context_.seams.model.embedded(at(Layer::none(), Direction::kForward), embedded);
          },
          [this, at](Layer layer, at::Tensor& q, at::Tensor& k, at::Tensor& v) {
            context_.seams.model.recomputed(at(layer, Direction::kBackward), q, k, v);
          }};
}

NamedTensors RankTrainer::state() const {
  NamedTensors state;
  for (const auto& [name, weight] : weights_.values()) state["weight." + name] = weight;
  for (const auto& [name, tensor] : optimizer_.state()) state[name] = tensor;
  return state;
}

std::string RankTrainer::parameterFor(const std::string& key) {
  for (const char* part : {"weight.", "first.", "second.", "master."})
    if (key.starts_with(part)) return key.substr(std::strlen(part));
  return key;
}

NamedTensors RankTrainer::stateToSave() const {
  NamedTensors state = this->state();
  std::erase_if(
      state, [&](const auto& entry) { return !slices_.isFirstHolder(parameterFor(entry.first)); });
  return state;
}

void RankTrainer::restore(const Checkpoint& checkpoint) {
  for (auto& [key, own] : state()) {
    const at::Tensor value = slices_.of(parameterFor(key), checkpoint.whole(key));
    if (value.sizes() != own.sizes() || value.scalar_type() != own.scalar_type())
      throw inputError("the checkpoint's '" + key + "' does not fit this model");
    at::Tensor(own).copy_(value);
  }
  optimizer_.setSteps(checkpoint.info().optimizer_steps);
}

void RankTrainer::recordAttention(std::int32_t train_step) {
  Observer& observer = context_.observer;
  Layer layer = Layer::of(0);
  for (const LayerAttention& a : model_.attention()) {
    const Place forward{train_step, layer, Direction::kForward, {}};
    const Place backward{train_step, layer, Direction::kBackward, {}};
    layer = layer.next();
    observer.tensor({TensorKind::kQ}, forward, a.q);
    observer.tensor({TensorKind::kK}, forward, a.k);
    observer.tensor({TensorKind::kV}, forward, a.v);
    if (a.sinks.defined()) observer.tensor({TensorKind::kSinks}, forward, a.sinks[0]);
    observer.tensor({TensorKind::kOut}, forward, a.out);
    observer.tensor({TensorKind::kLse}, forward, a.lse);
    observer.tensor({TensorKind::kDout}, backward, a.dout);
    observer.tensor({TensorKind::kDq}, backward, a.dq);
    observer.tensor({TensorKind::kDk}, backward, a.dk);
    observer.tensor({TensorKind::kDv}, backward, a.dv);
  }
}

void RankTrainer::recordOwnLoss(const Place& place, const LocalLoss& own) {
  Observer& observer = context_.observer;
  if (!observer.recording()) return;
  observer.tensor({TensorKind::kOther, traces::kOwnLossSum}, place,
                  at::full({1}, own.sum, at::kDouble));
  observer.tensor({TensorKind::kOther, traces::kOwnTargets}, place,
                  at::full({1}, own.targets, at::kLong));
}

/// Reports whether position ids are global indices, instead of restarting in each packed document.
bool RankTrainer::countsWholeSequence(const Batch& own) {
  const at::Tensor& ids = own.position_ids;
  return at::equal(ids, at::arange(ids.size(1), ids.options()).expand(ids.sizes()));
}

/// Records the intent, from the batch as it is declared, before seams change it. One rank records
/// it for all ranks that share its sequences, and only if it has changed.
void RankTrainer::recordIntent(std::int32_t train_step) {
  if (context_.rank() != GroupRank::of(0) || tp_.rank() != GroupRank::of(0)) return;
  if (!context_.observer.recording()) return;
  const Batch own = DataSeams::ofDpRank(context_.seamPlace({train_step}), setup_.batches);
  traces::IntentRecord meant;
  meant.mask = setup_.run.mask;
  if (meant.mask == traces::MaskKind::kDocuments)
    meant.documents = own.maskFor(setup_.masks.mask, 0).documents;
  meant.balance = *setup_.run.balance;
  meant.positions = countsWholeSequence(own) ? traces::PositionRule::kWholeSequence
                                             : traces::PositionRule::kEachDocument;
  meant.loss = traces::LossReduction::kMeanOverTargets;
  for (const auto& choice : traces::chosenBuffers(setup_.run))
    meant.buffers.push_back({choice.name, choice.seq_dim});
  const Mesh& mesh = context_.groups.mesh();
  for (const WorldRank first : mesh.tpGroup(context_.worldRank()))
    for (const WorldRank rank : mesh.cpGroup(first)) meant.ranks.push_back(rank);
  meant.train_step = intents_.empty() ? train_step : intents_.front().train_step;
  std::vector<traces::IntentRecord> all = byMask(meant);
  if (intents_ == all) return;
  intents_ = std::move(all);
  for (traces::IntentRecord& intent : intents_) {
    intent.train_step = train_step;
    context_.observer.record(intent);
  }
}

/// Returns an intent for each mask of the layers.
std::vector<traces::IntentRecord> RankTrainer::byMask(const traces::IntentRecord& meant) const {
  std::vector<traces::IntentRecord> all;
  for (const Mask& mask : setup_.masks.all()) {
    traces::IntentRecord& intent = all.emplace_back(meant);
    intent.layers = setup_.masks.layersWith(all.size() - 1, setup_.model.num_hidden_layers);
    intent.window = mask.window;
    if (meant.mask == traces::MaskKind::kWindow && mask.window == 0)
      intent.mask = traces::MaskKind::kCausal;
  }
  return all;
}

RankStep RankTrainer::report(const Result& result) const {
  return {model_.attention(),  result.logits.detach(), model_.rotary().cos,
          model_.rotary().sin, {gradients_},           {own_gradients_}};
}

RankTrainer::Clipped RankTrainer::update(std::int32_t train_step) {
  const Place place = afterLayers(train_step);
  Clipped clipped;
  {
    const StageScope scope(context_.observer, EventKind::kClip, place);
    const GradientSeams& seams = context_.seams.gradients;
    const SeamPlace at = context_.seamPlace(place);
    clipped.norm = seams.norm(at, context_.groups, gradients_, [this](const std::string& name) {
      return slices_.isFirstHolder(name);
    });
    clipped.coefficient = computeClipCoefficient(gradients_, [&](Gradients& gradients) {
      seams.clip(at, gradients, clipped.norm, setup_.run.max_norm);
    });
  }
  {
    const StageScope scope(context_.observer, EventKind::kOptimizer, place);
    optimizer_.step(gradients_);
  }
  gradients_.clear();
  for (const auto& [name, weight] : weights_.values())
    context_.observer.tensor({TensorKind::kWeight, name}, place, weight);
  return clipped;
}

}  // namespace ringscope::engine
