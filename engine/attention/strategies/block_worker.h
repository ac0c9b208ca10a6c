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
/// Adds the parts to dkv, [2, B, Hkv, S, D].
void addTo(const at::Tensor& dkv, const std::vector<KeyGradients>& parts);
/// Writes the sum of the parts to dkv, [2, B, Hkv, S, D]. Its previous contents are overwritten.
void storeIn(const at::Tensor& dkv, const std::vector<KeyGradients>& parts);

/// Returns dout, [B, H, S, D], in the memory order from which ATen's CPU kernel can take a range of
/// rows without a copy.
at::Tensor inKernelOrder(const at::Tensor& dout);

/// One of `count` equal parts of a rank's heads.
struct HeadPart {
  int index = 0, count = 1;
};

/// The attention loop that all strategies share: attends queries to one block at a time, merges the
/// results, and records both.
class BlockWorker {
 public:
  /// Makes a worker for this rank among the ranks of `group`, which `layout` describes. If the
  /// heads of a tp rank are split further, `heads` is the part that this rank attends.
  BlockWorker(RankContext& context, const Softmax& softmax, const Group& group,
              const ShardLayout& layout, HeadPart heads = {});

  /// Attends q, [B, Hq, S, D], to k and v, [B, Hkv, S_k, D], of cp rank `source_rank`, and merges
  /// into `running`. A running result without tensors is empty. `sinks` are only given to the seam
  /// after the block.
  void attend(const std::vector<Piece>& pieces, const traces::Place& place, GroupRank source_rank,
              const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
              const at::Tensor& sinks, RunningResult& running) const;
  /// Adds to dq, in fp32 (fp64 for fp64 inputs). Returns the parts of dk and dv. The caller adds
  /// them to the block's gradients, which may still be in flight.
  std::vector<KeyGradients> attendBackward(const std::vector<Piece>& pieces,
                                           const traces::Place& place, GroupRank source_rank,
                                           const at::Tensor& dout, const at::Tensor& q,
                                           const at::Tensor& k, const at::Tensor& v,
                                           const AttentionResult& result, RowSums& dq) const;
  /// Attends a whole sequence that this rank holds. Merges only the pieces that a single device
  /// would also merge.
  AttentionResult attendWhole(const std::vector<Piece>& pieces, const traces::Place& place,
                              const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  AttentionGradients attendWholeBackward(const std::vector<Piece>& pieces,
                                         const traces::Place& place, const at::Tensor& dout,
                                         const at::Tensor& q, const at::Tensor& k,
                                         const at::Tensor& v, const AttentionResult& result) const;
  /// Applies sinks to the running result and converts out to q's type. Rows without a key have out
  /// 0 and lse -inf, or the sink if there is one.
  AttentionResult finished(RunningResult running, const at::Tensor& q, at::Tensor sinks,
                           const traces::Place& place) const;

 private:
  /// Returns the dropout of one layer, which is the same in forward and backward.
  Dropout dropoutFor(const traces::Place& place, GroupRank source_rank) const;
  /// Returns the options of the softmax of one layer, with the rule that the seam leaves.
  Softmax softmaxFor(const traces::Place& place, GroupRank source_rank, const at::Tensor& q) const;
  PairPlaces placesFor(GroupRank source_rank, const at::Tensor& q) const;

  RankContext& context_;
  Softmax softmax_;
  HeadPart heads_;
  GroupRank cp_rank_;
  std::map<GroupRank, std::vector<traces::TokenIndex>> tokens_;  // per cp rank; only with dropout
};

/// Returns the type in which gradients of this input are summed.
at::ScalarType sumTypeFor(const at::Tensor& input);

}  // namespace ringscope::engine
