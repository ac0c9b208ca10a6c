// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// Ulysses attention (Jacobs et al. 2023, arXiv:2309.14509). An all-to-all exchanges shards of the
/// sequence with all heads for the group's joined shards with some heads. Another attention
/// computes on these, locally or as a ring over other groups. A second all-to-all restores the
/// shards.
class UlyssesAttention : public ContextParallelOp {
 public:
  /// Makes the strategy. `inner` attends the joined shards of the group. `segments` gives the order
  /// of their rows.
  UlyssesAttention(RankContext& context, Group group, std::vector<ShardLayout::Segment> segments,
                   std::unique_ptr<ContextParallelOp> inner);

  void setTrainStep(std::int32_t step) override;
  void setSinks(at::Tensor sinks) override;
  HopTotals hops() const override;
  std::int64_t work() const override { return inner_->work(); }
  AttentionResult forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          Layer layer) override;
  AttentionGradients backwardSums(const at::Tensor& dout, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v, const AttentionResult& result,
                                  Layer layer) override;

 private:
  /// The tensors by heads that forward keeps for backward.
  struct ByHeads {
    at::Tensor q, k, v;
    AttentionResult result;
  };
  /// Sends one message to each rank. `parts[r]` are the tensors for rank r, all of one type.
  /// Returns for each rank the tensors that it sent, with the shapes `shapes`.
  std::vector<std::vector<at::Tensor>> swap(const std::vector<std::vector<at::Tensor>>& parts,
                                            const std::vector<std::vector<std::int64_t>>& shapes,
                                            const traces::Place& place);
  /// Returns the heads of each rank for this layer and direction.
  HeadSplit headsFor(const at::Tensor& q, const at::Tensor& k, const traces::Place& place) const;
  /// Converts query heads from [B, H, S_local, …] to [B, H / size, S_local · size, …].
  at::Tensor toHeads(const at::Tensor& t, const traces::Place& place);
  /// Inverts toHeads().
  at::Tensor toSequence(const at::Tensor& t, const traces::Place& place);
  ByHeads turned(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const HeadSplit& heads_of, const traces::Place& place);

  AttentionGradients fromHeads(const std::vector<std::vector<at::Tensor>>& parts,
                               const HeadSplit& heads_of, const at::Tensor& q, const at::Tensor& k,
                               const traces::Place& place);

  /// Joins the members' rows into the joined order; split() is the inverse.
  at::Tensor join(const std::vector<at::Tensor>& members) const;
  std::vector<at::Tensor> split(const at::Tensor& joined) const;

  Group group_;
  std::vector<ShardLayout::Segment> segments_;
  std::unique_ptr<ContextParallelOp> inner_;
  std::map<Layer, ByHeads> kept_;
};

}  // namespace ringscope::engine
