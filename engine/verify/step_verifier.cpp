// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/step_verifier.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <future>

#include "engine/attention/block_attention.h"
#include "engine/attention/reference.h"
#include "engine/data/sharded_batch.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/row_attention.h"
#include "engine/verify/unsharded_step.h"
#include "traces/diff/summary.h"

namespace ringscope::engine {

using traces::DiffRecord;
using traces::Direction;
using traces::Place;

namespace {

struct TensorRow {
  const char* name;
  at::Tensor LayerAttention::*field;
  Direction direction;
};

constexpr TensorRow kAttentionTensors[] = {
    {"q", &LayerAttention::q, Direction::kForward},
    {"k", &LayerAttention::k, Direction::kForward},
    {"v", &LayerAttention::v, Direction::kForward},
    {"out", &LayerAttention::out, Direction::kForward},
    {"lse", &LayerAttention::lse, Direction::kForward},
    {"dout", &LayerAttention::dout, Direction::kBackward},
    {"dv", &LayerAttention::dv, Direction::kBackward},
    {"dk", &LayerAttention::dk, Direction::kBackward},
    {"dq", &LayerAttention::dq, Direction::kBackward},
};

bool isAttentionInput(const std::string& name) {
  return name == "q" || name == "k" || name == "v" || name == "dout";
}

Place placeOf(std::int32_t train_step, Layer layer, Direction direction) {
  return {train_step, layer, direction, {}};
}

/// An operator for each sequence whose documents differ, or one for all.
template <typename Make>
std::unique_ptr<AttentionOp> bySequence(const Batch& batch, const Mask& mask, Make make) {
  std::vector<std::unique_ptr<AttentionOp>> rows;
  const auto masks = std::max<std::size_t>(1, batch.cu_seqlens.size());
  for (std::size_t i = 0; i < masks; ++i)
    rows.push_back(make(batch.maskOf(mask, static_cast<std::int64_t>(i))));
  return std::make_unique<RowAttention>(std::move(rows));
}

/// Attention forward and backward of whole tensors.
LayerAttention attended(AttentionOp& op, const LayerAttention& in) {
  LayerAttention a{in.q, in.k, in.v, {}, {}, in.dout, {}, {}, {}};
  const AttentionResult result = op.forward(in.q, in.k, in.v, Layer::of(0));
  const AttentionGradients g = op.backward(in.dout, in.q, in.k, in.v, result, Layer::of(0));
  a.out = result.out;
  a.lse = result.lse;
  a.dq = g.dq;
  a.dk = g.dk;
  a.dv = g.dv;
  return a;
}

}  // namespace

std::unique_ptr<AttentionOp> StepVerifier::reference(const Batch& batch) const {
  return bySequence(batch, mask_, [this](const Mask& mask) {
    return std::make_unique<ReferenceAttention>(mask, config_.attentionScale());
  });
}
std::unique_ptr<AttentionOp> StepVerifier::device(const Batch& batch) const {
  return bySequence(batch, mask_, [this](const Mask& mask) {
    return std::make_unique<DeviceAttention>(mask, config_.attentionScale(), fp8_);
  });
}

LayerAttention StepVerifier::joined(const std::vector<RankStep>& ranks, Layer layer) const {
  LayerAttention whole;
  for (const TensorRow& row : kAttentionTensors) {
    std::vector<at::Tensor> shards;
    for (const RankStep& rank : ranks) shards.push_back(rank.layers[layer.index()].*row.field);
    whole.*row.field = unshard(shards, 2, layout_);
  }
  return whole;
}

std::vector<DiffRecord> StepVerifier::isolated(std::int32_t train_step,
                                               const std::vector<RankStep>& ranks,
                                               const Batch& batch, const MapSink& maps) const {
  const auto exact_attention = reference(batch), device_attention = device(batch);
  std::vector<DiffRecord> diffs;
  for (Layer layer = Layer::of(0); layer.index() < ranks.front().layers.size();
       layer = layer.next()) {
    const LayerAttention actual = joined(ranks, layer);
    const LayerAttention exact = attended(*exact_attention, actual),
                         one_device = attended(*device_attention, actual);
    for (const TensorRow& row : kAttentionTensors) {
      if (isAttentionInput(row.name)) continue;
      DiffRecord diff;
      diff.place = placeOf(train_step, layer, row.direction);
      diff.tensor = row.name;
      measureError(diff, actual.*row.field, exact.*row.field, one_device.*row.field, &layout_);
      const ErrorMaps map = errorMaps(actual.*row.field, exact.*row.field);
      maps("error.abs." + diff.tensor, diff.place, map.absolute);
      maps("error.rel." + diff.tensor, diff.place, map.relative);
      maps("error.ulp." + diff.tensor, diff.place, map.ulp);
      diffs.push_back(std::move(diff));
    }
  }
  return diffs;
}

std::vector<DiffRecord> StepVerifier::endToEnd(std::int32_t train_step,
                                               const std::vector<RankStep>& ranks, double loss,
                                               const LlamaWeights& weights,
                                               const Batch& batch) const {
  // The ranks wait meanwhile, so the two steps run on two of their cores.
  auto exact_step = std::async(std::launch::async, [&] {
    at::set_num_threads(1);
    return UnshardedStep::run(config_, weights, batch, *reference(batch), at::kDouble);
  });
  const auto one_device = UnshardedStep::run(config_, weights, batch, *device(batch), type_);
  const auto exact = exact_step.get();
  std::vector<DiffRecord> diffs;
  for (Layer layer = Layer::of(0); layer.index() < exact.layers.size(); layer = layer.next()) {
    const LayerAttention actual = joined(ranks, layer);
    for (const TensorRow& row : kAttentionTensors) {
      DiffRecord diff;
      diff.isolated = false;
      diff.place = placeOf(train_step, layer, row.direction);
      diff.tensor = row.name;
      measureError(diff, actual.*row.field, exact.layers[layer.index()].*row.field,
                   one_device.layers[layer.index()].*row.field, &layout_);
      diffs.push_back(std::move(diff));
    }
  }
  DiffRecord of_loss;
  of_loss.isolated = false;
  of_loss.place = {train_step};
  of_loss.tensor = "loss";
  // Compared in the run's type: the logged loss has no more digits than that.
  measureError(of_loss, at::tensor({loss}, at::kDouble), at::tensor({exact.loss}, at::kDouble),
               at::tensor({one_device.loss}, at::kDouble).to(type_));
  diffs.push_back(std::move(of_loss));
  compareParameters(diffs, placeOf(train_step, Layer::none(), Direction::kBackward), ranks,
                    exact.gradients, one_device.gradients);
  return diffs;
}

void StepVerifier::compareParameters(std::vector<DiffRecord>& diffs, Place place,
                                     const std::vector<RankStep>& ranks,
                                     const std::map<std::string, at::Tensor>& reference,
                                     const std::map<std::string, at::Tensor>& device) const {
  for (const auto& [name, exact] : reference) {
    DiffRecord worst;
    std::vector<double> by_rank;
    for (const RankStep& rank : ranks) {
      DiffRecord diff;
      measureError(diff, rank.gradients.at(name), exact, device.at(name));
      by_rank.push_back(diff.multiple);
      if (by_rank.size() == 1 || traces::isWorse(diff, worst)) worst = std::move(diff);
    }
    worst.isolated = false;
    worst.place = place;
    worst.tensor = "grad." + name;
    worst.multiple_by_rank = std::move(by_rank);
    diffs.push_back(std::move(worst));
  }
}

}  // namespace ringscope::engine
