// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attention/strategies/context_parallel_op.h"
#include "engine/plan.h"

namespace ringscope::engine {

/// Ulysses (Jacobs et al. 2023, arXiv:2309.14509): an all-to-all turns a shard of the sequence with
/// all heads into the group's whole part of the sequence with some heads; another attention works
/// on that (on the spot, or as a ring over other groups); an all-to-all turns its result back.
class UlyssesAttention : public ContextParallelOp {
 public:
  /// `inner` attends the joined shards of the group, whose rows lie as `segments` says.
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
  /// What forward keeps for backward: the same tensors by heads.
  struct ByHeads {
    at::Tensor q, k, v;
    AttentionResult result;
  };
  /// One message to each rank: `parts[r]` are the tensors for rank r, of one type; gives, for each
  /// rank, what it sent, shaped like `shapes`.
  std::vector<std::vector<at::Tensor>> swap(const std::vector<std::vector<at::Tensor>>& parts,
                                            const std::vector<std::vector<std::int64_t>>& shapes,
                                            const traces::Place& place);
  /// The heads of each rank, for this layer and direction.
  HeadSplit headsOf(const at::Tensor& q, const at::Tensor& k, const traces::Place& place) const;
  /// [B, H, S_local, …] to [B, H / size, S_local · size, …], queries' heads.
  at::Tensor toHeads(const at::Tensor& t, const traces::Place& place);
  /// The inverse.
  at::Tensor toSequence(const at::Tensor& t, const traces::Place& place);
  ByHeads turned(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                 const HeadSplit& heads_of, const traces::Place& place);

  AttentionGradients fromHeads(const std::vector<std::vector<at::Tensor>>& parts,
                               const HeadSplit& heads_of, const at::Tensor& q, const at::Tensor& k,
                               const traces::Place& place);

  /// Each member's rows to the joined order, and back.
  at::Tensor join(const std::vector<at::Tensor>& members) const;
  std::vector<at::Tensor> split(const at::Tensor& joined) const;

  Group group_;
  std::vector<ShardLayout::Segment> segments_;
  std::unique_ptr<ContextParallelOp> inner_;
  std::map<Layer, ByHeads> kept_;
};

}  // namespace ringscope::engine
