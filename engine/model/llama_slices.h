// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/model/llama_config.h"
#include "engine/parallel/tensor_parallel.h"

namespace ringscope::engine {

/// Which part of each parameter of a Llama a rank holds under tensor parallelism: q, k, v, gate and
/// up are cut by columns, o and down by rows, embedding and output projection by vocabulary. Where
/// there are more ranks than KV heads, several ranks hold the same head.
class LlamaSlices {
 public:
  /// `config` outlives this.
  LlamaSlices(const TensorParallel& tp, const LlamaConfig& config) : tp_(tp), config_(&config) {}

  /// This rank's slice of a full parameter.
  at::Tensor of(const std::string& name, const at::Tensor& full) const;
  /// Adds up the gradients of KV heads that several ranks hold, in place; other parameters stay.
  void sumReplicas(const std::string& name, at::Tensor& gradient) const;
  /// Whether this rank's square of a gradient counts in the global norm: replicated ones count
  /// once.
  bool countsInNorm(const std::string& name) const;

  /// Throws usageError when the model does not divide among `size` ranks, with the reason.
  static void check(const LlamaConfig& config, int size);
  /// The full parameter from the slices of all ranks, in their order.
  static at::Tensor joined(const std::string& name, const std::vector<at::Tensor>& slices,
                           const LlamaConfig& config);

 private:
  int replicas() const;

  TensorParallel tp_;
  const LlamaConfig* config_;
};

}  // namespace ringscope::engine
