// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "engine/attention/strategies/row_sums.h"
#include "engine/kernels/dropout.h"
#include "engine/kernels/merge.h"
#include "engine/kernels/softmax.h"
#include "engine/plan.h"
#include "engine/rank/rank_context.h"
#include "engine/transport/group.h"

namespace ringscope::engine {

/// dk and dv of key rows [k_begin, k_end) of a block.
struct KeyGradients {
  std::int64_t k_begin = 0, k_end = 0;
  at::Tensor dk, dv;
};
/// Adds into dkv: [2, B, Hkv, S, D].
void addTo(const at::Tensor& dkv, const std::vector<KeyGradients>& parts);
/// The same where nothing has been added yet: what dkv holds does not matter.
void storeIn(const at::Tensor& dkv, const std::vector<KeyGradients>& parts);

/// dout: [B, H, S, D] in the order in memory in which ATen's CPU kernel takes a part of its rows
/// without copying them.
at::Tensor inKernelOrder(const at::Tensor& dout);

/// One of several equal parts of a rank's heads.
struct HeadPart {
  int index = 0, count = 1;
};

/// Attends queries to one block at a time and merges, recording both; the part that all strategies
/// have in common.
class BlockWorker {
 public:
  /// `layout` is that of the ranks of `group`; `heads`: where a tp rank's heads are shared out
  /// further, which part of them is attended.
  BlockWorker(RankContext& context, const Softmax& softmax, const Group& group,
              const ShardLayout& layout, HeadPart heads = {});

  /// q: [B, Hq, S, D]; k, v: [B, Hkv, S_k, D] of cp rank `source_rank`. A running result without
  /// tensors has seen nothing yet.
  void attend(const std::vector<Piece>& pieces, const traces::Place& place, GroupRank source_rank,
              const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
              RunningResult& running) const;
  /// Adds to dq, which is fp32 (fp64 for fp64 inputs), and returns what is to be added into dk and
  /// dv: they belong to the block, which may still be on its way here.
  std::vector<KeyGradients> attendBackward(const std::vector<Piece>& pieces,
                                           const traces::Place& place, GroupRank source_rank,
                                           const at::Tensor& dout, const at::Tensor& q,
                                           const at::Tensor& k, const at::Tensor& v,
                                           const AttentionResult& result, RowSums& dq) const;
  /// The same as attend() for a rank that has the whole sequence: nothing is merged but what the
  /// kernel alone would have to.
  AttentionResult attendWhole(const std::vector<Piece>& pieces, const traces::Place& place,
                              const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  AttentionGradients attendWholeBackward(const std::vector<Piece>& pieces,
                                         const traces::Place& place, const at::Tensor& dout,
                                         const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v, const AttentionResult& result) const;
  /// The running result with sinks, in q's type; rows without a key are out 0, lse -inf (or sink).
  static AttentionResult finished(RunningResult running, const at::Tensor& q,
                                  const at::Tensor& sinks);

 private:
  /// Of one layer; the same in forward and backward.
  Dropout dropoutOf(const traces::Place& place, GroupRank source_rank) const;
  PairPlaces placesOf(GroupRank source_rank, const at::Tensor& q) const;

  RankContext& context_;
  Softmax softmax_;
  HeadPart heads_;
  GroupRank cp_rank_;
  std::map<GroupRank, std::vector<traces::TokenIndex>> tokens_;  // of each cp rank; with dropout
};

/// The type in which gradients of inputs of this type are summed.
at::ScalarType sumTypeOf(const at::Tensor& input);

}  // namespace ringscope::engine
