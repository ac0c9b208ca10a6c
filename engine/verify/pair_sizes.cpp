// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/pair_sizes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "engine/kernels/reference.h"

namespace ringscope::engine {
namespace {

/// [B, Hkv, S, D] to [B, Hq, S, D]
at::Tensor perQueryHead(const at::Tensor& t, std::int64_t heads) {
  return t.cpu().to(at::kFloat).repeat_interleave(heads / t.size(1), 1);
}

}  // namespace

at::Tensor rowSquares(const at::Tensor& t) {
  return at::square(t).sum(-1);
}

AttentionSizes::AttentionSizes(const LayerAttention& exact, const Mask& of_mask,
                               const MergedBlocks& of_blocks, double of_scale)
    : mask(of_mask),
      blocks(of_blocks),
      scale2(of_scale * of_scale),
      scale(of_scale),
      group(static_cast<double>(exact.q.size(1)) / static_cast<double>(exact.k.size(1))),
      has_sinks(exact.sinks.defined()),
      dout_size(std::max(exact.dout.abs().max().item<double>(), 1e-300)),
      q(exact.q.cpu().to(at::kFloat)),
      k(perQueryHead(exact.k, exact.q.size(1))),
      v(perQueryHead(exact.v, exact.q.size(1))),
      dout((exact.dout.cpu().to(at::kDouble) / dout_size).to(at::kFloat)),
      out(exact.out.cpu().to(at::kFloat)),
      lse(exact.lse.cpu().to(at::kFloat)),
      k2(rowSquares(k)),
      v2(rowSquares(v)) {}

PairSizes::PairSizes(const AttentionSizes& in, std::int64_t row, std::int64_t rows) {
  const auto part = [&](const at::Tensor& t) { return t.slice(2, row, row + rows); };
  const at::Tensor refused = refusedByMask(in.mask, row, rows, in.k.size(2)), lse = part(in.lse);
  at::Tensor p = at::matmul(part(in.q), in.k.transpose(-1, -2)) * in.scale;
  p.masked_fill_(refused, -std::numeric_limits<double>::infinity());
  p = at::exp(p - lse.masked_fill(at::isneginf(lse), 0).unsqueeze(-1));
  const at::Tensor delta = (part(in.dout) * part(in.out)).sum(-1, true);
  ds2 = at::square(p * (at::matmul(part(in.dout), in.v.transpose(-1, -2)) - delta));
  mean_key2 = rowSquares(at::matmul(p, in.k));
  merges = in.blocks.sumsOver(p, row);
  p2 = at::square(p);
  moved = p2 * (1 - p).clamp_min(0);
  allowed = at::logical_not(refused).to(at::kFloat).expand_as(p2);
}

}  // namespace ringscope::engine
