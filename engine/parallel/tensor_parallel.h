// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// The operations of tensor parallelism as in Megatron-LM (Shoeybi et al. 2019, arXiv:1909.08053).
/// Without a group, each operation does what one device does. Belongs to its rank's thread.
class TensorParallel {
 public:
  TensorParallel() = default;
  /// Makes the operations of a group. `group` must outlive the object.
  explicit TensorParallel(Communicator& group);

  GroupRank rank() const { return group_ ? group_->rank() : GroupRank::of(0); }
  int size() const { return group_ ? group_->size() : 1; }

  /// Enters a column-parallel part: returns x; its gradient is summed over the group.
  at::Tensor copied(const at::Tensor& x) const;
  /// Leaves a row-parallel part: returns the sum of x over the group; the gradient passes
  /// unchanged.
  at::Tensor reduced(const at::Tensor& x) const;
  /// Embeds ids, [B, S]. weight: [vocab / size, hidden], this rank's rows. Returns [B, S, hidden].
  at::Tensor embedding(const at::Tensor& weight, const at::Tensor& ids) const;
  /// Returns the sum of the cross entropy over targets. logits: [N, vocab / size] in fp32 or fp64;
  /// labels: [N], -100 is ignored.
  at::Tensor crossEntropySum(const at::Tensor& logits, const at::Tensor& labels) const;

  /// Sums x over the group, in place.
  void sum(at::Tensor& x, traces::Payload payload) const;

 private:
  Communicator* group_ = nullptr;
};

}  // namespace ringscope::engine
