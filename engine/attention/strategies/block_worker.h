// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/merge.h"
#include "engine/attention/pieces.h"
#include "engine/train/rank_context.h"

namespace ringscope::engine {

/// Attends queries to one block at a time and merges, recording both; the part that all strategies
/// have in common.
class BlockWorker {
 public:
  BlockWorker(RankContext& context, double scale) : context_(context), scale_(scale) {}

  /// q: [B, Hq, S, D]; k, v: [B, Hkv, S_k, D] of `source_rank`. A running result without tensors
  /// has seen nothing yet.
  void attend(const std::vector<Piece>& pieces, const traces::Place& place, int source_rank,
              const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
              RunningResult& running) const;
  /// Adds into dq, dk, dv, which are fp32 (fp64 for fp64 inputs).
  void attendBackward(const std::vector<Piece>& pieces, const traces::Place& place, int source_rank,
                      const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                      const at::Tensor& v, const AttentionResult& result,
                      const AttentionGradients& sums) const;
  /// The running result in q's type; rows without a key are out 0, lse -inf.
  static AttentionResult finished(RunningResult running, const at::Tensor& q);

 private:
  RankContext& context_;
  double scale_;
};

/// The type in which gradients of inputs of this type are summed.
at::ScalarType sumTypeOf(const at::Tensor& input);

}  // namespace ringscope::engine
