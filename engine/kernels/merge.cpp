// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/merge.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <cmath>

#include "engine/gpu/gpu.h"

namespace ringscope::engine {
namespace {

/// The strides of a [B, H, S, D] or [B, H, S] tensor: at() is the offset of row (b, h, s).
struct RowStrides {
  std::int64_t batch, head, row;
  explicit RowStrides(const at::Tensor& t)
      : batch(t.stride(0)), head(t.stride(1)), row(t.stride(2)) {}
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return b * batch + h * head + s * row;
  }
};

template <typename Acc, typename Block>
__attribute__((target_clones("default", "avx2", "avx512f"))) void blend(
    Acc* __restrict out, const Block* __restrict block, std::int64_t width, Acc keep, Acc add) {
  for (std::int64_t d = 0; d < width; ++d)
    out[d] = keep * out[d] + add * static_cast<Acc>(block[d]);
}

template <typename Acc, typename Block>
void mergeRows(RunningResult& running, const AttentionResult& block, std::int64_t q_begin) {
  const std::int64_t heads = block.lse.size(1), rows = block.lse.size(2), width = block.out.size(3);
  const RowStrides out_at(running.out), lse_at(running.lse), block_out_at(block.out),
      block_lse_at(block.lse);
  auto* out = running.out.data_ptr<Acc>();
  auto* lse = running.lse.data_ptr<Acc>();
  const auto* block_out = block.out.const_data_ptr<Block>();
  const auto* block_lse = block.lse.const_data_ptr<Acc>();
  at::parallel_for(0, block.lse.numel(), 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t s = i % rows, h = i / rows % heads, b = i / rows / heads;
      const Acc theirs = block_lse[block_lse_at.at(b, h, s)];
      if (theirs == -std::numeric_limits<Acc>::infinity()) continue;
      Acc& mine = lse[lse_at.at(b, h, q_begin + s)];
      Acc* const row = out + out_at.at(b, h, q_begin + s);
      const Block* const block_row = block_out + block_out_at.at(b, h, s);
      if (mine == -std::numeric_limits<Acc>::infinity()) {  // the first keys of this row
        std::copy_n(block_row, width, row);
        mine = theirs;
        continue;
      }
      // One of exp(mine − m) and exp(theirs − m) is 1; a NaN in either gives NaN.
      const bool first_larger = mine >= theirs;
      const Acc m = first_larger ? mine : theirs, smaller = std::exp(-std::abs(mine - theirs));
      const Acc my_weight = first_larger ? 1 : smaller, their_weight = first_larger ? smaller : 1;
      const Acc sum = my_weight + their_weight;
      // The weights add up to 1 if they are divided by their sum. Dividing by exp(lse' − m) would
      // not ensure this: lse' is rounded to a unit of lse, which for wide scores is much larger
      // than a unit of the weights.
      blend(row, block_row, width, my_weight / sum, their_weight / sum);
      mine = m + std::log(sum);
    }
  });
}

}  // namespace

void mergeBlock(RunningResult& running, const AttentionResult& block, std::int64_t q_begin) {
  TORCH_CHECK(running.out.stride(3) == 1 && block.out.stride(3) == 1, "rows must be contiguous");
  if (running.out.is_cuda()) {
    const std::int64_t q_end = q_begin + block.lse.size(2);
    return gpu::mergeRows(running.out.slice(2, q_begin, q_end),
                          running.lse.slice(2, q_begin, q_end), block.out, block.lse);
  }
  if (running.out.scalar_type() == at::kDouble)
    return mergeRows<double, double>(running, block, q_begin);
  switch (block.out.scalar_type()) {
    case at::kFloat:
      return mergeRows<float, float>(running, block, q_begin);
    case at::kBFloat16:
      return mergeRows<float, at::BFloat16>(running, block, q_begin);
    case at::kHalf:
      return mergeRows<float, at::Half>(running, block, q_begin);
    default:
      TORCH_CHECK(false, "blocks of type ", block.out.scalar_type(), " cannot be merged");
  }
}

RunningResult emptyRunningResult(const at::Tensor& q) {
  RunningResult running = unwrittenRunningResult(q);
  running.out.zero_();
  return running;
}

RunningResult unwrittenRunningResult(const at::Tensor& q) {
  const auto type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto options = q.options().dtype(type).requires_grad(false);
  return {at::empty(q.sizes(), options),
          at::full({q.size(0), q.size(1), q.size(2)}, -std::numeric_limits<double>::infinity(),
                   options)};
}

}  // namespace ringscope::engine
