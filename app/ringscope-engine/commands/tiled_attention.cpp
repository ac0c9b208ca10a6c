// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/commands/tiled_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/kernels/fp8.h"
#include "engine/kernels/merge.h"
#include "engine/kernels/reference.h"

namespace ringscope::app {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr std::uint32_t kMostBlocks = 8;

/// Adds up the query heads of each KV head of `t`, [B, Hq, S, D]. The result has the type and the
/// number of heads of `like`, [B, Hkv, S, D].
at::Tensor perKeyHead(const at::Tensor& t, const at::Tensor& like) {
  return t.view({t.size(0), like.size(1), -1, t.size(2), t.size(3)}).sum(2).to(like.scalar_type());
}

}  // namespace

TiledAttention::TiledAttention(const engine::Mask& mask, std::int64_t length, double scale,
                               at::ScalarType type, bool fp8, std::mt19937& random)
    : scale_(scale),
      length_(length),
      fp8_(fp8),
      refused_(engine::refusedByMask(mask, 0, length, length)),
      bias_(at::zeros({length, length}, type).masked_fill_(refused_, kMinusInfinity)),
      random_(random) {}

at::Tensor TiledAttention::used(const at::Tensor& t, std::int64_t query_heads) const {
  return (fp8_ ? engine::roundedToFp8(t) : t).repeat_interleave(query_heads / t.size(1), 1);
}

/// Draws borders with repetition, so that there can be fewer than kMostBlocks blocks.
std::vector<TiledAttention::Block> TiledAttention::blocks() {
  std::set<std::int64_t> ends{length_};
  for (std::uint32_t left = random_() % kMostBlocks; left > 0; --left)
    ends.insert(1 + static_cast<std::int64_t>(random_()) % length_);
  std::vector<Block> cut;
  std::int64_t begin = 0;
  for (const std::int64_t end : ends) {
    cut.push_back({begin, end});
    begin = end;
  }
  std::shuffle(cut.begin(), cut.end(), random_);
  return cut;
}

at::Tensor TiledAttention::pairs(const at::Tensor& t, const Block& rows, const Block& keys) {
  return t.slice(0, rows.begin, rows.end).slice(1, keys.begin, keys.end);
}

at::Tensor TiledAttention::bias(const Block& rows, const Block& keys) const {
  return pairs(bias_, rows, keys).unsqueeze(0).unsqueeze(0);
}

engine::AttentionResult TiledAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                                const at::Tensor& v, engine::Layer) {
  const at::Tensor queries = used(q, q.size(1)), keys = used(k, q.size(1)),
                   values = used(v, q.size(1));
  const std::vector<Block> key_blocks = blocks();
  engine::RunningResult running = engine::emptyRunningResult(q);
  for (const Block& rows : blocks())
    for (const Block& block : key_blocks) {
      const at::Tensor empty = pairs(refused_, rows, block).all(-1);
      auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
          queries.slice(2, rows.begin, rows.end), keys.slice(2, block.begin, block.end),
          values.slice(2, block.begin, block.end), 0.0, false, bias(rows, block), scale_);
      engine::mergeBlock(running,
                         {out.masked_fill(empty.view({1, 1, -1, 1}), 0),
                          lse.masked_fill(empty.view({1, 1, -1}), kMinusInfinity)},
                         rows.begin);
    }
  return {running.out.to(q.scalar_type()), running.lse};
}

engine::AttentionGradients TiledAttention::backward(const at::Tensor& dout, const at::Tensor& q,
                                                    const at::Tensor& k, const at::Tensor& v,
                                                    const engine::AttentionResult& result,
                                                    engine::Layer) {
  const at::Tensor queries = used(q, q.size(1)), keys = used(k, q.size(1)),
                   values = used(v, q.size(1)),
                   lse = result.lse.masked_fill(at::isneginf(result.lse), 0);
  at::Tensor dq = at::zeros(q.sizes(), at::kFloat), dk = at::zeros(keys.sizes(), at::kFloat),
             dv = at::zeros(values.sizes(), at::kFloat);
  const std::vector<Block> key_blocks = blocks();
  for (const Block& rows : blocks())
    for (const Block& block : key_blocks) {
      const auto of_rows = [&](const at::Tensor& t) { return t.slice(2, rows.begin, rows.end); };
      const auto of_keys = [&](const at::Tensor& t) { return t.slice(2, block.begin, block.end); };
      auto [dq_part, dk_part, dv_part] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          of_rows(dout), of_rows(queries), of_keys(keys), of_keys(values), of_rows(result.out),
          of_rows(lse), 0.0, false, bias(rows, block), scale_);
      of_rows(dq) += dq_part;
      of_keys(dk) += dk_part;
      of_keys(dv) += dv_part;
    }
  return {dq.to(q.scalar_type()), perKeyHead(dk, k), perKeyHead(dv, v)};
}

}  // namespace ringscope::app
