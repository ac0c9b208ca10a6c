// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/reference.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

constexpr std::int64_t kReferenceRows = 256;

/// Converts [B, Hkv, S, D] to [B, Hq, S, D] in fp64: every query head gets a copy of its group's
/// keys.
at::Tensor perQueryHead(const at::Tensor& t, std::int64_t query_heads) {
  return t.to(at::kDouble).repeat_interleave(query_heads / t.size(1), 1);
}

/// Computes the derivative of perQueryHead.
at::Tensor perKeyHead(const at::Tensor& t, std::int64_t key_heads) {
  return t.view({t.size(0), key_heads, t.size(1) / key_heads, t.size(2), t.size(3)}).sum(2);
}

/// Appends the sink as one more key to every row of its head: [B, H, rows, S] to
/// [B, H, rows, S + 1].
at::Tensor withSinks(const at::Tensor& scores, const at::Tensor& sinks) {
  if (!sinks.defined()) return scores;
  const at::Tensor column = sinks.to(at::kDouble).view({1, -1, 1, 1});
  return at::cat({scores, column.expand({scores.size(0), -1, scores.size(2), 1})}, -1);
}

}  // namespace

at::Tensor refusedByMask(const Mask& mask, std::int64_t first_row, std::int64_t rows,
                         std::int64_t keys) {
  at::Tensor refused = at::empty({rows, keys}, at::kBool);
  bool* at = refused.data_ptr<bool>();
  for (std::int64_t q = first_row; q < first_row + rows; ++q)
    for (std::int64_t k = 0; k < keys; ++k)
      *at++ = !mask.allows(TokenIndex::of(q), TokenIndex::of(k));
  return refused;
}

at::Tensor ReferenceAttention::scores(const at::Tensor& q_rows, const at::Tensor& k,
                                      std::int64_t first_row) const {
  at::Tensor s = at::matmul(q_rows, k.transpose(-1, -2)) * rule_.scale;  // [B, H, rows, S]
  if (rule_.softcap > 0) s = rule_.softcap * at::tanh(s / rule_.softcap);
  if (!mask_.isFull())
    s.masked_fill_(refusedByMask(mask_, first_row, q_rows.size(2), k.size(2)),
                   -std::numeric_limits<double>::infinity());
  return s;
}

AttentionResult ReferenceAttention::forward(const at::Tensor& q, const at::Tensor& k,
                                            const at::Tensor& v, Layer) {
  const at::Tensor q64 = q.to(at::kDouble);
  const at::Tensor k64 = perQueryHead(k, q.size(1)), v64 = perQueryHead(v, q.size(1));
  std::vector<at::Tensor> out, lse;
  for (std::int64_t row = 0; row < q.size(2); row += kReferenceRows) {
    const at::Tensor s = scores(q64.slice(2, row, row + kReferenceRows), k64, row);
    lse.push_back(at::logsumexp(withSinks(s, sinks_), -1));
    // A row without a key has out 0; without this replacement, exp(-inf - -inf) would be NaN.
    const at::Tensor base = lse.back().masked_fill(at::isneginf(lse.back()), 0).unsqueeze(-1);
    out.push_back(at::matmul(at::exp(s - base), v64));
  }
  return {at::cat(out, 2), at::cat(lse, 2)};
}

AttentionGradients ReferenceAttention::backward(const at::Tensor& dout, const at::Tensor& q,
                                                const at::Tensor& k, const at::Tensor& v,
                                                const AttentionResult& result, Layer) {
  const at::Tensor q64 = q.to(at::kDouble), dout64 = dout.to(at::kDouble);
  const at::Tensor k64 = perQueryHead(k, q.size(1)), v64 = perQueryHead(v, q.size(1));
  const at::Tensor delta = (dout64 * result.out.to(at::kDouble)).sum(-1, true);  // [B, H, S, 1]
  at::Tensor dk = at::zeros_like(k64), dv = at::zeros_like(v64);
  std::vector<at::Tensor> dq;
  for (std::int64_t row = 0; row < q.size(2); row += kReferenceRows) {
    auto rows = [&](const at::Tensor& t) { return t.slice(2, row, row + kReferenceRows); };
    const at::Tensor s = scores(rows(q64), k64, row);
    const at::Tensor p = at::exp(s - rows(result.lse)
                                         .to(at::kDouble)
                                         .masked_fill(at::isneginf(rows(result.lse)), 0)
                                         .unsqueeze(-1));
    dv += at::matmul(p.transpose(-1, -2), rows(dout64));
    at::Tensor ds = p * (at::matmul(rows(dout64), v64.transpose(-1, -2)) - rows(delta));
    // The derivative of c·tanh(x / c) is 1 − tanh²(x / c). Masked pairs have p = 0.
    if (rule_.softcap > 0)
      ds = ds * (1 - at::square(s.masked_fill(at::isneginf(s), 0) / rule_.softcap));
    ds = ds * rule_.scale;
    dq.push_back(at::matmul(ds, k64));
    dk += at::matmul(ds.transpose(-1, -2), rows(q64));
  }
  return {at::cat(dq, 2), perKeyHead(dk, k.size(1)), perKeyHead(dv, k.size(1))};
}

}  // namespace ringscope::engine
