// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"

namespace ringscope::app {

/// Attention by one device that takes another tiling and order each time: how far the results of
/// right programs lie apart. Queries and keys are cut at random borders, into one to eight blocks
/// each; blocks of keys are merged, and gradients added up, in a random order.
class TiledAttention final : public engine::AttentionOp {
 public:
  /// For sequences of `length` in `type`, float32 or narrower; with `fp8`, of q, k and v as e4m3
  /// holds them. `random` must outlive it.
  TiledAttention(const engine::Mask& mask, std::int64_t length, double scale, at::ScalarType type,
                 bool fp8, std::mt19937& random);

  engine::AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  engine::Layer layer) override;
  engine::AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q,
                                      const at::Tensor& k, const at::Tensor& v,
                                      const engine::AttentionResult& result,
                                      engine::Layer layer) override;

 private:
  struct Block {
    std::int64_t begin, end;
  };
  /// [B, H, S, D] to [B, Hq, S, D], as the products have it.
  at::Tensor used(const at::Tensor& t, std::int64_t query_heads) const;
  std::vector<Block> blocks();
  /// Of a tensor [S, S]: of these rows and keys.
  static at::Tensor pairs(const at::Tensor& t, const Block& rows, const Block& keys);
  at::Tensor bias(const Block& rows, const Block& keys) const;

  double scale_;
  std::int64_t length_;
  bool fp8_;
  at::Tensor refused_, bias_;  ///< [S, S]: pairs that the mask leaves out, and -inf there
  std::mt19937& random_;
};

}  // namespace ringscope::app
