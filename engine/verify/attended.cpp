// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/attended.h"

#include <ATen/ATen.h>

#include "engine/kernels/fp8.h"

namespace ringscope::engine {

LayerAttention attended(AttentionOp& op, const LayerAttention& in, Layer layer) {
  LayerAttention a{in.q, in.k, in.v, {}, {}, in.dout, {}, {}, {}};
  const AttentionResult result = op.forward(in.q, in.k, in.v, layer);
  const AttentionResult stored{in.out.defined() ? in.out : result.out, result.lse};
  const AttentionGradients g = op.backward(in.dout, in.q, in.k, in.v, stored, layer);
  a.out = result.out;
  a.lse = result.lse;
  a.dq = g.dq;
  a.dk = g.dk;
  a.dv = g.dv;
  a.sinks = in.sinks;
  return a;
}

LayerAttention asUsed(LayerAttention in, bool fp8) {
  if (!fp8) return in;
  for (at::Tensor LayerAttention::*field :
       {&LayerAttention::q, &LayerAttention::k, &LayerAttention::v})
    in.*field = roundedToFp8(in.*field);
  return in;
}

QuantisationError::QuantisationError(AttentionOp& exact, const LayerAttention& in, Layer layer) {
  const LayerAttention inputs{in.q, in.k, in.v, {}, {}, in.dout, {}, {}, {}};
  unrounded_ = attended(exact, inputs, layer);
  rounded_ = attended(exact, asUsed(inputs, true), layer);
}

double QuantisationError::of(at::Tensor LayerAttention::*result) const {
  const at::Tensor before = (unrounded_.*result).to(at::kDouble),
                   change = (rounded_.*result).to(at::kDouble) - before;
  const double moved = change.norm().item<double>();
  return moved == 0 ? 0 : moved / before.norm().item<double>();
}

}  // namespace ringscope::engine
