// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "traces/format/schema/ids.h"
#include "traces/format/schema/score_rule.h"

namespace ringscope::engine {

using traces::Layer;
using traces::ScoreRule;

/// The result of one attention forward. out: [B, Hq, S, D]; lse: [B, Hq, S], natural logarithm. A
/// query without a key has out 0 and lse -inf.
struct AttentionResult {
  at::Tensor out, lse;
};

/// The gradients of one attention. dq: [B, Hq, S, D]; dk, dv: [B, Hkv, S, D].
struct AttentionGradients {
  at::Tensor dq, dk, dv;
};

/// Attention of one layer as the model sees it. S is the number of tokens on this rank.
/// Implementations are the strategies, one device without sharding, and the fp64 reference.
class AttentionOp {
 public:
  virtual ~AttentionOp() = default;
  /// Sets the logits of attention sinks for every later forward: one per query head, [Hq].
  /// Undefined means no sinks. backward does not need them, because out and lse of its result
  /// include them.
  virtual void setSinks(at::Tensor sinks) { sinks_ = std::move(sinks); }
  /// Computes attention. q: [B, Hq, S, D]; k, v: [B, Hkv, S, D], where Hkv divides Hq.
  virtual AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  Layer layer) = 0;
  /// Computes gradients. `result` is the result of forward for the same q, k, v; dout:
  /// [B, Hq, S, D].
  virtual AttentionGradients backward(const at::Tensor& dout, const at::Tensor& q,
                                      const at::Tensor& k, const at::Tensor& v,
                                      const AttentionResult& result, Layer layer) = 0;

 protected:
  at::Tensor sinks_;
};

}  // namespace ringscope::engine
