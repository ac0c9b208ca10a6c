// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "traces/format/schema/ids.h"

namespace ringscope::engine {

using traces::Layer;

/// Result of one attention forward. out: [B, Hq, S, D]; lse: [B, Hq, S], natural logarithm, -inf
/// (and out 0) for a query without a key.
struct AttentionResult {
  at::Tensor out, lse;
};

/// dq: [B, Hq, S, D]; dk, dv: [B, Hkv, S, D].
struct AttentionGradients {
  at::Tensor dq, dk, dv;
};

/// Attention of one layer as the model sees it. S is what this rank holds. Implementations: the
/// strategies, one device without sharding, and the fp64 reference.
class AttentionOp {
 public:
  virtual ~AttentionOp() = default;
  /// Logits of attention sinks in every forward from now on, one a query head, [Hq]; undefined:
  /// none. backward needs none, since out and lse of its result have them in.
  virtual void setSinks(at::Tensor sinks) { sinks_ = std::move(sinks); }
  /// q: [B, Hq, S, D]; k, v: [B, Hkv, S, D] with Hkv dividing Hq.
  virtual AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  Layer layer) = 0;
  /// `result` is what forward gave for the same q, k, v; dout: [B, Hq, S, D].
  virtual AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q,
                                      const at::Tensor& k, const at::Tensor& v,
                                      const AttentionResult& result, Layer layer) = 0;

 protected:
  at::Tensor sinks_;
};

}  // namespace ringscope::engine
