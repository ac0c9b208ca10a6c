// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/data/batch.h"
#include "engine/kernels/layer_masks.h"

namespace ringscope::engine {

/// Attention of a run whose mask may change with every training step, because the documents in a
/// sequence change, and with the layer. Belongs to its rank's thread.
class StepAttention : public AttentionOp {
 public:
  /// Makes the operator of these layers; none: of all layers.
  using Make = std::function<std::unique_ptr<ContextParallelOp>(const Mask& mask,
                                                                const std::vector<Layer>& layers)>;
  /// Makes the operator for a model of `layers` layers. `masks` are those of sequences that are one
  /// document.
  StepAttention(LayerMasks masks, std::int64_t layers, Make make)
      : masks_(std::move(masks)), layers_(layers), make_(std::move(make)) {}

  /// Begins a step. `own` are the sequences of this rank's cp group; there is only one if they have
  /// documents. `anew` forces a new operator, because its inputs have changed.
  void begin(std::int32_t train_step, const Batch& own, bool anew);

  void setSinks(at::Tensor sinks) override {
    for (const auto& op : now_) op->setSinks(sinks);
  }

  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override {
    return now_[masks_.indexFor(layer)]->forward(q, k, v, layer);
  }
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override {
    return now_[masks_.indexFor(layer)]->backward(dout, q, k, v, result, layer);
  }

 private:
  LayerMasks masks_;
  std::int64_t layers_;
  Make make_;
  std::vector<std::unique_ptr<ContextParallelOp>> now_;  // of masks_.all()
};

}  // namespace ringscope::engine
