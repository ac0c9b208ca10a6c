// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/rounding_variance.h"

#include <ATen/ATen.h>

#include <limits>

#include "engine/kernels/reference.h"
#include "engine/kernels/scores.h"
#include "engine/tensors/tensor_io.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kRowsAtOnce = 128;

at::Tensor onCpu(const at::Tensor& t) {
  return t.detach().to(at::kCPU, at::kDouble).contiguous();
}

std::span<const double> valuesOf(const at::Tensor& t) {
  return {t.const_data_ptr<double>(), static_cast<std::size_t>(t.numel())};
}

std::vector<double> squaresOf(const at::Tensor& t) {
  return traces::rowSquares(valuesOf(t), t.size(-1));
}

/// The tensors of one attention in fp64 on the CPU: [B, Hq, S, D], k and v for each query head.
struct WideAttention {
  explicit WideAttention(const LayerAttention& exact)
      : q(onCpu(exact.q)),
        k(perQueryHead(exact.k, exact.q.size(1))),
        v(perQueryHead(exact.v, exact.q.size(1))),
        dout(onCpu(exact.dout)),
        out(onCpu(exact.out)),
        lse(onCpu(exact.lse)) {}
  static at::Tensor perQueryHead(const at::Tensor& t, std::int64_t heads) {
    return onCpu(t).repeat_interleave(heads / t.size(1), 1);
  }

  at::Tensor q, k, v, dout, out, lse;
};

/// The keys that each of some query rows may attend: one run under every mask.
struct KeyRun {
  std::size_t first = 0, count = 0;
};
std::vector<KeyRun> keyRuns(const at::Tensor& refused) {
  const at::Tensor allowed = refused.logical_not().to(at::kByte), first = allowed.argmax(-1),
                   count = allowed.sum(-1, false, at::kLong);
  const auto *firsts = first.const_data_ptr<std::int64_t>(),
             *counts = count.const_data_ptr<std::int64_t>();
  std::vector<KeyRun> runs;
  for (std::int64_t i = 0; i < allowed.size(0); ++i)
    runs.push_back({static_cast<std::size_t>(firsts[i]), static_cast<std::size_t>(counts[i])});
  return runs;
}

/// Visits some query rows of all heads.
void visitRows(traces::VarianceSums& sums, const WideAttention& in, const Mask& mask,
               const ScoreRule& rule, std::int64_t row, std::int64_t rows) {
  const auto part = [&](const at::Tensor& t) { return t.slice(2, row, row + rows).contiguous(); };
  const at::Tensor lse = part(in.lse), out = part(in.out), dout = part(in.dout);
  const at::Tensor scores = scoresFrom(at::matmul(part(in.q), in.k.transpose(-1, -2)), rule),
                   p = at::exp(scores - lse.unsqueeze(-1));
  const at::Tensor refused = refusedByMask(mask, row, rows, in.k.size(2));
  const at::Tensor weights = p.masked_fill(refused, 0), delta = (dout * out).sum(-1, true),
                   dscores = beforeSoftcap(p * (at::matmul(dout, in.v.transpose(-1, -2)) - delta),
                                           scores, rule),
                   mean_key2 = at::square(at::matmul(weights, in.k)).sum(-1);
  const auto p_values = valuesOf(weights), ds_values = valuesOf(dscores), outs = valuesOf(out),
             lses = valuesOf(lse), mean_keys = valuesOf(mean_key2);
  const auto keys = static_cast<std::size_t>(in.k.size(2)),
             width = static_cast<std::size_t>(out.size(3));
  const std::vector<KeyRun> runs = keyRuns(refused);
  for (std::size_t i = 0; i < lses.size(); ++i) {
    const std::size_t of_head = i % runs.size();
    const KeyRun& run = runs[of_head];
    sums.visit({i / runs.size(), static_cast<std::size_t>(row) + of_head, run.first,
                p_values.subspan(i * keys + run.first, run.count),
                ds_values.subspan(i * keys + run.first, run.count), outs.subspan(i * width, width),
                lses[i], mean_keys[i], outs.subspan(i * width, width)});
  }
}

}  // namespace

AttentionVariance attentionVariance(const LayerAttention& exact, const Mask& mask,
                                    const MergedBlocks& blocks, const ScoreRule& rule,
                                    at::ScalarType type) {
  const WideAttention in(exact);
  traces::RoundedAttention rounded;
  rounded.heads = in.q.size(0) * in.q.size(1);
  rounded.kv_heads = exact.k.size(0) * exact.k.size(1);
  rounded.head_dim = in.q.size(3);
  rounded.scale = rule.scale;
  rounded.has_sinks = exact.sinks.defined();
  rounded.dtype = dtypeFrom(at::empty({0}, type));
  rounded.blocks = blocks;
  rounded.q2 = squaresOf(in.q);
  rounded.dout2 = squaresOf(in.dout);
  rounded.k2 = squaresOf(onCpu(exact.k));
  rounded.v2 = squaresOf(onCpu(exact.v));
  traces::VarianceSums sums(std::move(rounded));
  for (std::int64_t row = 0; row < in.q.size(2); row += kRowsAtOnce)
    visitRows(sums, in, mask, rule, row, std::min(kRowsAtOnce, in.q.size(2) - row));
  const at::Tensor dq = onCpu(exact.dq), dk = onCpu(exact.dk), dv = onCpu(exact.dv);
  return sums.finish({valuesOf(dq), valuesOf(dk), valuesOf(dv)});
}

}  // namespace ringscope::engine
