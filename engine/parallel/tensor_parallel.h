// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// The operations of tensor parallelism as Megatron-LM does it (Shoeybi et al. 2019,
/// arXiv:1909.08053). Without a group everything is what one device does. Belongs to its rank's
/// thread.
class TensorParallel {
 public:
  TensorParallel() = default;
  /// `group` outlives this.
  explicit TensorParallel(Communicator& group);

  GroupRank rank() const { return group_ ? group_->rank() : GroupRank::of(0); }
  int size() const { return group_ ? group_->size() : 1; }

  /// Into a column-parallel part: x itself; its gradient is summed over the group.
  at::Tensor copied(const at::Tensor& x) const;
  /// Out of a row-parallel part: the sum of x over the group; the gradient goes through.
  at::Tensor reduced(const at::Tensor& x) const;
  /// weight: [vocab / size, hidden], the rows of this rank; ids: [B, S]. Returns [B, S, hidden].
  at::Tensor embedding(const at::Tensor& weight, const at::Tensor& ids) const;
  /// Sum over targets of the cross entropy. logits: [N, vocab / size] in fp32 or fp64; labels: [N],
  /// -100 ignored.
  at::Tensor crossEntropySum(const at::Tensor& logits, const at::Tensor& labels) const;

  /// Adds up x over the group, in place.
  void sum(at::Tensor& x, traces::Payload payload) const;

 private:
  Communicator* group_ = nullptr;
};

}  // namespace ringscope::engine
