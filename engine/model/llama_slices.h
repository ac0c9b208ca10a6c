// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/model/llama_config.h"
#include "engine/parallel/tensor_parallel.h"

namespace ringscope::engine {

/// Which part of each parameter of a Llama a rank holds under tensor parallelism: q, k, v, gate and
/// up are cut by columns, o and down by rows, attention sinks by heads, embedding and output
/// projection by vocabulary. Where there are more ranks than KV heads, several ranks hold the same
/// head.
class LlamaSlices {
 public:
  /// `config` outlives this.
  LlamaSlices(const TensorParallel& tp, const LlamaConfig& config) : tp_(tp), config_(&config) {}

  /// This rank's slice of a full parameter.
  at::Tensor of(const std::string& name, const at::Tensor& full) const;
  /// Adds up, in place, the gradients of what several ranks hold and each computes a part of: KV
  /// heads that are repeated, and the norms that all heads share. Other parameters stay.
  void sumShared(const std::string& name, at::Tensor& gradient) const;
  /// Whether this rank is the first of those that hold its part of a parameter: what it has of it
  /// counts in the global norm and is written into checkpoints, and what the others have is not.
  bool isFirstHolder(const std::string& name) const;

  /// Throws usageError when the model does not divide among `size` ranks, with the reason.
  static void check(const LlamaConfig& config, int size);
  /// The full parameter from the slices of all ranks, in their order.
  static at::Tensor joined(const std::string& name, const std::vector<at::Tensor>& slices,
                           const LlamaConfig& config);
  /// The same from the slices of first holders only.
  static at::Tensor whole(const std::string& name, const std::vector<at::Tensor>& slices);

 private:
  int replicas() const;

  TensorParallel tp_;
  const LlamaConfig* config_;
};

}  // namespace ringscope::engine
