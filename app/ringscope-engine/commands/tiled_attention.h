// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <vector>

#include "engine/kernels/attention_op.h"
#include "engine/plan.h"

namespace ringscope::app {

/// Attention on one device with a different tiling and order at each call. It shows how far apart
/// the results of correct programs lie. Queries and keys are cut at random borders into one to
/// eight blocks each. Blocks of keys are merged, and gradients are added up, in a random order.
class TiledAttention final : public engine::AttentionOp {
 public:
  /// Makes attention for sequences of `length` tokens in `type`, float32 or narrower. With `fp8`,
  /// q, k and v are first rounded to e4m3. `random` must outlive the object.
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
  /// Returns t, [B, H, S, D], repeated to [B, Hq, S, D] and, with fp8, rounded to e4m3.
  at::Tensor used(const at::Tensor& t, std::int64_t query_heads) const;
  std::vector<Block> blocks();
  /// Returns the part of `t`, [S, S], for these rows and keys.
  static at::Tensor pairs(const at::Tensor& t, const Block& rows, const Block& keys);
  at::Tensor bias(const Block& rows, const Block& keys) const;

  double scale_;
  std::int64_t length_;
  bool fp8_;
  at::Tensor refused_, bias_;  ///< [S, S]: true for pairs that the mask excludes; -inf for them,
                               ///< else 0
  std::mt19937& random_;
};

}  // namespace ringscope::app
