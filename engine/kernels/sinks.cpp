// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/sinks.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

void applySinks(AttentionResult& result, const at::Tensor& sinks) {
  if (!sinks.defined()) return;
  const at::Tensor logit = sinks.to(result.lse.scalar_type()).view({1, -1, 1});
  const at::Tensor lse = at::logaddexp(result.lse, logit);
  result.out = result.out * at::exp(result.lse - lse).unsqueeze(-1);
  result.lse = lse;
}

namespace {

/// Returns the sink's weight in each row: [B, Hq, S].
at::Tensor shareOf(const at::Tensor& sinks, const AttentionResult& result) {
  return at::exp(sinks.to(at::kDouble).view({1, -1, 1}) - result.lse.to(at::kDouble));
}

}  // namespace

at::Tensor sinkGradient(const at::Tensor& sinks, const at::Tensor& dout,
                        const AttentionResult& result) {
  const at::Tensor share = shareOf(sinks, result);
  const at::Tensor delta = (dout.to(at::kDouble) * result.out.to(at::kDouble)).sum(-1);
  return -(share * delta).sum(at::IntArrayRef{0, 2});
}

at::Tensor sinkGradientSize(const at::Tensor& sinks, const at::Tensor& dout,
                            const AttentionResult& result) {
  const at::Tensor terms = dout.to(at::kDouble) * result.out.to(at::kDouble);
  return (shareOf(sinks, result) * terms.abs().sum(-1)).sum(at::IntArrayRef{0, 2});
}

at::Tensor sinkGradientRounding(const at::Tensor& sinks, const at::Tensor& dout,
                                const AttentionResult& result, double roundoff) {
  const at::Tensor terms = dout.to(at::kDouble) * result.out.to(at::kDouble);
  const at::Tensor squares = (shareOf(sinks, result).unsqueeze(-1) * terms).square();
  return (squares.sum(at::IntArrayRef{0, 2, 3}) / 3).sqrt() * roundoff;
}

}  // namespace ringscope::engine
