// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// The masks of the layers of a model, some of which may attend without the sliding window of the
/// others.
struct LayerMasks {
  Mask mask;  ///< of all layers but `without_window`
  std::vector<Layer> without_window{};

  /// Returns the index of a layer's mask in all().
  std::size_t indexFor(Layer layer) const {
    return std::ranges::find(without_window, layer) != without_window.end() ? 1 : 0;
  }
  /// Returns the layers, of `count`, with this mask of all(); none if all layers have it.
  std::vector<Layer> layersWith(std::size_t index, std::int64_t count) const {
    std::vector<Layer> layers;
    if (without_window.empty()) return layers;
    for (Layer layer = Layer::of(0); layer.value() < count; layer = layer.next())
      if (indexFor(layer) == index) layers.push_back(layer);
    return layers;
  }
  /// Returns the one or two masks.
  std::vector<Mask> all() const {
    if (without_window.empty()) return {mask};
    return {mask, mask.withoutWindow()};
  }
};

/// Attention in which the layers have their own operators, because they have their own masks.
class LayeredAttention : public AttentionOp {
 public:
  /// Makes the operator. `ops` are the operators of masks.all().
  LayeredAttention(LayerMasks masks, std::vector<std::unique_ptr<AttentionOp>> ops)
      : masks_(std::move(masks)), ops_(std::move(ops)) {}

  void setSinks(at::Tensor sinks) override {
    for (const auto& op : ops_) op->setSinks(sinks);
  }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override {
    return ops_[masks_.indexFor(layer)]->forward(q, k, v, layer);
  }
  AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& v, const AttentionResult& result,
                              Layer layer) override {
    return ops_[masks_.indexFor(layer)]->backward(dout, q, k, v, result, layer);
  }

 private:
  LayerMasks masks_;
  std::vector<std::unique_ptr<AttentionOp>> ops_;
};

}  // namespace ringscope::engine
