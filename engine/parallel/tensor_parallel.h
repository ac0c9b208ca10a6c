// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/model/llama_config.h"
#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// Tensor parallelism of a Llama as Megatron-LM does it (Shoeybi et al. 2019, arXiv:1909.08053):
/// q, k, v, gate and up are cut by columns, o and down by rows, embedding and output projection by
/// vocabulary. Without a group everything is what one device does. Belongs to its rank's thread.
class TensorParallel {
 public:
  TensorParallel() = default;
  /// `group` outlives this.
  explicit TensorParallel(Communicator& group);

  int rank() const { return group_ ? group_->rank() : 0; }
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

  /// This rank's slice of a full parameter.
  at::Tensor sliceOf(const std::string& name, const at::Tensor& full,
                     const LlamaConfig& config) const;
  /// Adds up the gradients of KV heads that several ranks hold, in place; other parameters stay.
  void sumReplicas(const std::string& name, at::Tensor& gradient, const LlamaConfig& config) const;
  /// Whether this rank's square of a gradient counts in the global norm: replicated ones count
  /// once.
  bool countsInNorm(const std::string& name, const LlamaConfig& config) const;

  /// Throws usageError when the model does not divide among `size` ranks, with the reason.
  static void check(const LlamaConfig& config, int size);
  /// The full parameter from the slices of all ranks, in their order.
  static at::Tensor joined(const std::string& name, const std::vector<at::Tensor>& slices,
                           const LlamaConfig& config);

 private:
  Communicator* group_ = nullptr;
};

}  // namespace ringscope::engine
