// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/model/llama_config.h"
#include "engine/parallel/tensor_parallel.h"

namespace ringscope::engine {

/// The part of each parameter of a Llama that a rank holds under tensor parallelism. Columns of q,
/// k, v, gate and up are split, and so are rows of o and down. Attention sinks are split by heads,
/// embedding and output projection by vocabulary. If there are more ranks than KV heads, several
/// ranks hold the same head.
class LlamaSlices {
 public:
  /// Makes the slices. `config` must outlive them.
  LlamaSlices(const TensorParallel& tp, const LlamaConfig& config) : tp_(tp), config_(&config) {}

  /// Returns this rank's slice of a full parameter.
  at::Tensor of(const std::string& name, const at::Tensor& full) const;
  /// Adds up, in place, the gradient of a parameter that several ranks hold and each computes in
  /// part: repeated KV heads, and the norms that all heads share. Other gradients do not change.
  void sumShared(const std::string& name, at::Tensor& gradient) const;
  /// Reports whether this rank is the first of the ranks that hold the same part of a parameter.
  /// Only the first holder's part counts in the global norm and is written into checkpoints.
  bool isFirstHolder(const std::string& name) const;

  /// Throws usageError with the reason if the model does not divide among `size` ranks.
  static void check(const LlamaConfig& config, int size);
  /// Returns the full parameter from the slices of all ranks, in rank order.
  static at::Tensor joined(const std::string& name, const std::vector<at::Tensor>& slices,
                           const LlamaConfig& config);
  /// Returns the full parameter from the slices of first holders only.
  static at::Tensor whole(const std::string& name, const std::vector<at::Tensor>& slices);

 private:
  int replicas() const;

  TensorParallel tp_;
  const LlamaConfig* config_;
};

}  // namespace ringscope::engine
