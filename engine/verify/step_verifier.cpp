// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/step_verifier.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <future>

#include "engine/kernels/block_attention.h"
#include "engine/kernels/reference.h"
#include "engine/verify/attended.h"
#include "engine/verify/attention_on_device.h"
#include "engine/verify/blocked_attention.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/replayed_attention.h"
#include "engine/verify/row_attention.h"
#include "engine/verify/sink_error.h"
#include "engine/verify/step_ends.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::engine {

using traces::DiffRecord;
using traces::Direction;
using traces::Place;

namespace {

struct TensorRow {
  const char* name;
  at::Tensor LayerAttention::*field;
  Direction direction;
  TensorVariance AttentionVariance::*variance;  ///< null: an input
};

constexpr TensorRow kAttentionTensors[] = {
    {"q", &LayerAttention::q, Direction::kForward, nullptr},
    {"k", &LayerAttention::k, Direction::kForward, nullptr},
    {"v", &LayerAttention::v, Direction::kForward, nullptr},
    {"out", &LayerAttention::out, Direction::kForward, &AttentionVariance::out},
    {"lse", &LayerAttention::lse, Direction::kForward, &AttentionVariance::lse},
    {"dout", &LayerAttention::dout, Direction::kBackward, nullptr},
    {"dv", &LayerAttention::dv, Direction::kBackward, &AttentionVariance::dv},
    {"dk", &LayerAttention::dk, Direction::kBackward, &AttentionVariance::dk},
    {"dq", &LayerAttention::dq, Direction::kBackward, &AttentionVariance::dq},
};

Place placeFor(std::int32_t train_step, Layer layer, Direction direction) {
  return {train_step, layer, direction, {}};
}

/// Returns the number of sequences whose documents differ; 1 if all are alike.
std::int64_t countUnlikeSequences(const Batch& batch) {
  return std::max<std::int64_t>(1, std::ssize(batch.cu_seqlens));
}

/// Makes an operator of one mask: one for each sequence whose documents differ, in their order, or
/// one for all.
template <typename Make>
std::unique_ptr<AttentionOp> bySequence(const Batch& batch, const Mask& mask, Make make) {
  std::vector<std::unique_ptr<AttentionOp>> rows;
  for (std::int64_t i = 0; i < countUnlikeSequences(batch); ++i)
    rows.push_back(make(batch.maskFor(mask, i), i));
  return std::make_unique<RowAttention>(std::move(rows));
}

/// Makes an operator of all masks.
template <typename Make>
std::unique_ptr<AttentionOp> byLayer(const Batch& batch, const LayerMasks& masks, Make make) {
  std::vector<std::unique_ptr<AttentionOp>> ops;
  for (const Mask& mask : masks.all()) ops.push_back(bySequence(batch, mask, make));
  return std::make_unique<LayeredAttention>(masks, std::move(ops));
}

/// A layer's sinks, [Hq], the same on all ranks; undefined: none.
at::Tensor sinksFor(const std::vector<RankStep>& ranks, Layer layer) {
  const at::Tensor& of_dp_ranks = ranks.front().layers[layer.index()].sinks;
  return of_dp_ranks.defined() ? of_dp_ranks[0] : of_dp_ranks;
}

/// Returns the part of a layer that belongs to sequence i, as a batch of one.
LayerAttention sequenceOf(const LayerAttention& a, std::int64_t i) {
  LayerAttention one;
  for (const TensorRow& row : kAttentionTensors) one.*row.field = (a.*row.field).narrow(0, i, 1);
  return one;
}

/// Parts of a batch, one after another.
TensorVariance joinedBatch(const std::vector<AttentionVariance>& parts,
                           TensorVariance AttentionVariance::*tensor) {
  TensorVariance whole{{}, (parts.front().*tensor).bounded};
  for (const AttentionVariance& part : parts)
    whole.rows.insert(whole.rows.end(), (part.*tensor).rows.begin(), (part.*tensor).rows.end());
  return whole;
}

}  // namespace

std::unique_ptr<AttentionOp> StepVerifier::reference(const Batch& batch) const {
  return byLayer(batch, masks_, [this](const Mask& mask, std::int64_t) {
    return std::make_unique<ReferenceAttention>(mask, config_.scoreRule());
  });
}
std::unique_ptr<AttentionOp> StepVerifier::device(const Batch& batch, bool fp8) const {
  auto whole = byLayer(batch, masks_, [this, fp8](const Mask& mask, std::int64_t) {
    return std::make_unique<DeviceAttention>(mask, config_.scoreRule(), fp8);
  });
  return std::make_unique<AttentionOnDevice>(std::move(whole), where_);
}

ShardLayout StepVerifier::ring(const Batch& batch, std::int64_t sequence) const {
  return layoutFor(layout_, batch, sequence).joined(ulysses_);
}

/// Errors of attention go through the whole step, so their final size is measured on one device.
/// Measured in fp32: merging 64 blocks makes the errors of out 4 times those of one block. It makes
/// the errors of a norm's gradient twice as large, which its limit does not allow for. Merging 8
/// blocks adds little to the other rounding errors.
std::unique_ptr<AttentionOp> StepVerifier::mergingDevice(const Batch& batch) const {
  constexpr int kFewBlocks = 8;
  if (layout_.cpSize() / ulysses_ <= kFewBlocks) return device(batch, fp8_);
  auto whole = byLayer(batch, masks_, [&](const Mask& mask, std::int64_t sequence) {
    return std::make_unique<BlockedAttention>(ring(batch, sequence), mask, config_.scoreRule(),
                                              fp8_);
  });
  return std::make_unique<AttentionOnDevice>(std::move(whole), where_);
}

LayerAttention StepVerifier::joined(const std::vector<RankStep>& ranks, Layer layer,
                                    const BatchLayout& layout) {
  LayerAttention whole;
  for (const TensorRow& row : kAttentionTensors) {
    std::vector<at::Tensor> shards;
    shards.reserve(ranks.size());
    for (const RankStep& rank : ranks) shards.push_back(rank.layers[layer.index()].*row.field);
    whole.*row.field = layout.unshard(shards, 2);
  }
  return whole;
}

DiffRecord StepVerifier::sinkDiff(const Place& place, const std::vector<RankStep>& ranks,
                                  const LayerAttention& used) {
  DiffRecord diff;
  diff.place = place;
  diff.tensor = "dsinks";
  at::Tensor sum;
  for (const RankStep& rank : ranks) {
    const at::Tensor part = rank.layers[place.layer.index()].dsinks.sum(0);
    sum = sum.defined() ? sum + part : part;
  }
  measureSinkGradient(diff, sum, sinksFor(ranks, place.layer), used);
  return diff;
}

std::vector<MergedBlocks> StepVerifier::blocks(const Batch& batch, const Mask& mask) const {
  std::vector<MergedBlocks> blocks;
  for (std::int64_t i = 0; i < countUnlikeSequences(batch); ++i)
    blocks.push_back(MergedBlocks::of(ring(batch, i), batch.maskFor(mask, i)));
  return blocks;
}

AttentionVariance StepVerifier::variance(const LayerAttention& exact, const Batch& batch,
                                         const Mask& mask,
                                         const std::vector<MergedBlocks>& blocks) const {
  if (blocks.size() < 2)
    return attentionVariance(exact, batch.maskFor(mask, 0), blocks.front(), config_.scoreRule(),
                             type_);
  std::vector<AttentionVariance> all;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto sequence = static_cast<std::int64_t>(i);
    all.push_back(attentionVariance(sequenceOf(exact, sequence), batch.maskFor(mask, sequence),
                                    blocks[i], config_.scoreRule(), type_));
  }
  AttentionVariance whole;
  for (const TensorRow& row : kAttentionTensors)
    if (row.variance) whole.*row.variance = joinedBatch(all, row.variance);
  return whole;
}

StepVerifier::Isolated StepVerifier::isolated(std::int32_t train_step,
                                              const std::vector<RankStep>& ranks,
                                              const Batch& batch, const MapSink& maps) const {
  const BatchLayout layout(layout_, batch);
  const auto exact_attention = reference(batch), device_attention = device(batch, false);
  const std::vector<Mask> masks = masks_.all();
  std::vector<std::vector<MergedBlocks>> merged;  // by mask
  for (const Mask& mask : masks) merged.push_back(blocks(batch, mask));
  Isolated found;
  for (Layer layer = Layer::of(0); layer.index() < ranks.front().layers.size();
       layer = layer.next()) {
    const LayerAttention actual = joined(ranks, layer, layout);
    LayerAttention in = asUsed(actual, fp8_);
    const at::Tensor sinks = sinksFor(ranks, layer);
    in.sinks = sinks;
    exact_attention->setSinks(sinks);
    device_attention->setSinks(sinks);
    const LayerAttention exact = attended(*exact_attention, in, layer),
                         one_device = attended(*device_attention, in, layer);
    const std::size_t by_mask = masks_.indexFor(layer);
    const AttentionVariance expected = variance(exact, batch, masks[by_mask], merged[by_mask]);
    std::optional<QuantisationError> quantisation;
    if (fp8_) quantisation.emplace(*exact_attention, actual, layer);
    for (const TensorRow& row : kAttentionTensors) {
      if (!row.variance || !isComparable(exact.*row.field)) continue;
      DiffRecord diff;
      diff.place = placeFor(train_step, layer, row.direction);
      diff.tensor = row.name;
      measureError(diff, {actual.*row.field, exact.*row.field, one_device.*row.field},
                   &(expected.*row.variance), &layout);
      if (quantisation) diff.quantisation = quantisation->of(row.field);
      const ErrorMaps map = errorMaps(actual.*row.field, exact.*row.field);
      maps(traces::kAbsoluteErrors + diff.tensor, diff.place, map.absolute);
      maps(traces::kRelativeErrors + diff.tensor, diff.place, map.relative);
      maps(traces::kUlpErrors + diff.tensor, diff.place, map.ulp);
      found.diffs.push_back(std::move(diff));
    }
    if (sinks.defined() && isComparable(exact.dq))
      found.diffs.push_back(
          sinkDiff(placeFor(train_step, layer, Direction::kBackward), ranks, actual));
    found.variances.push_back(expected);
  }
  return found;
}

std::vector<LayerAttention> StepVerifier::gatherAttention(const std::vector<RankStep>& ranks,
                                                          const Batch& batch) const {
  const BatchLayout layout(layout_, batch);
  std::vector<LayerAttention> layers;
  for (Layer layer = Layer::of(0); layer.index() < ranks.front().layers.size();
       layer = layer.next())
    layers.push_back(joined(ranks, layer, layout));
  return layers;
}

StepVerifier::Unsharded StepVerifier::unsharded(const LlamaWeights& weights, const Batch& batch,
                                                const std::vector<LayerAttention>& of_run) const {
  const auto step = [&](AttentionOp& attention, at::ScalarType type) {
    return UnshardedStep::run(config_, weights, batch, attention, type, type_);
  };
  const auto around = [&](at::ScalarType type) {
    ReplayedAttention of_the_run(of_run);
    return type_ == at::kDouble ? std::map<std::string, at::Tensor>()
                                : step(of_the_run, type).gradients;
  };
  // The ranks wait meanwhile, so exact steps and a device's run on two of their cores.
  auto exact_steps = std::async(std::launch::async, [&] {
    at::set_num_threads(1);
    return std::pair(step(*reference(batch), at::kDouble), around(at::kDouble));
  });
  auto device_step = step(*mergingDevice(batch), type_);
  auto device_around = around(type_);
  auto [exact, exact_around] = exact_steps.get();
  return {std::move(exact), std::move(device_step), std::move(exact_around),
          std::move(device_around), tp_};
}

namespace {

/// Returns the expected errors of the run's own numbers, or null if they are not numbers.
const TensorVariance* known(const AttentionVariance& variances, const TensorRow& row) {
  if (!row.variance) return nullptr;
  const TensorVariance& variance = variances.*row.variance;
  return variance.isComparable() ? &variance : nullptr;
}

}  // namespace

std::vector<DiffRecord> StepVerifier::endToEnd(
    std::int32_t train_step, const std::vector<RankStep>& ranks, double loss, double norm,
    const Batch& batch, const Unsharded& unsharded,
    const std::vector<AttentionVariance>& variances) const {
  const UnshardedStep &exact = unsharded.exact, &one_device = unsharded.device;
  const BatchLayout layout(layout_, batch);
  std::vector<DiffRecord> diffs;
  for (Layer layer = Layer::of(0); layer.index() < exact.layers.size(); layer = layer.next()) {
    const LayerAttention actual = joined(ranks, layer, layout);
    for (const TensorRow& row : kAttentionTensors) {
      DiffRecord diff;
      diff.isolated = false;
      diff.place = placeFor(train_step, layer, row.direction);
      diff.tensor = row.name;
      measureError(diff,
                   {actual.*row.field, exact.layers[layer.index()].*row.field,
                    one_device.layers[layer.index()].*row.field},
                   known(variances[layer.index()], row), &layout, 2, true);
      diffs.push_back(std::move(diff));
    }
  }
  const StepEnds ends{train_step, layout, ranks, batch, unsharded, variances};
  diffs.push_back(ends.rotary(config_, type_));
  diffs.push_back(ends.logits());
  diffs.push_back(ends.loss(loss));
  const auto gradients = ends.gradients();
  diffs.insert(diffs.end(), gradients.begin(), gradients.end());
  diffs.push_back(ends.gradientNorm(norm));
  return diffs;
}

}  // namespace ringscope::engine
