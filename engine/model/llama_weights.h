// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/model/llama_config.h"
#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// The parameters of a Llama by their Hugging Face names, in a fixed order.
class LlamaWeights {
 public:
  /// Normal with initializer_range, norms at 1, from `seed`; the same on every rank. Attention
  /// sinks change no other parameter.
  static LlamaWeights random(const LlamaConfig& config, std::uint64_t seed, at::ScalarType type);
  /// From FOLDER/model.safetensors, or from the files that FOLDER/model.safetensors.index.json
  /// names. Throws inputError that names a missing or misshapen tensor.
  static LlamaWeights load(const LlamaConfig& config, const std::string& folder,
                           at::ScalarType type);
  /// Of tensors by their names, which are not copied.
  static LlamaWeights of(std::vector<std::string> names, std::map<std::string, at::Tensor> tensors);
  /// Adds attention sinks to a model that has none: normal, of standard deviation 0.5.
  void drawSinks(const LlamaConfig& config, std::uint64_t seed, at::ScalarType type);
  /// What a rank holds of a full parameter.
  using Slicer = std::function<at::Tensor(const std::string& name, const at::Tensor& full)>;
  /// Leaves with their own storage that collect gradients: each rank trains its own replica, of
  /// whole parameters or of slices.
  LlamaWeights replica(at::ScalarType type, const Slicer& slice = {},
                       at::Device device = at::kCPU) const;
  const std::vector<std::string>& names() const { return names_; }
  const at::Tensor& operator[](const std::string& name) const { return tensors_.at(name); }
  /// All of them by name, outside autograd: the tensors themselves.
  std::map<std::string, at::Tensor> values() const;
  /// Gives every parameter a zeroed gradient that backward adds into.
  void zeroGradients() const;
  /// The parameter of one decoder layer, such as "self_attn.q_proj.weight".
  const at::Tensor& ofLayer(traces::Layer layer, const std::string& name) const;
  /// Undefined where the model has none.
  at::Tensor biasOf(traces::Layer layer, const std::string& projection) const;
  /// The parameter of a layer's attention sinks, [Hq]; undefined where the model has none.
  at::Tensor sinksOf(traces::Layer layer) const;
  /// The full name of a layer's parameter, such as "self_attn.q_proj.weight".
  static std::string nameOf(traces::Layer layer, const std::string& name);
  static std::string sinksName(traces::Layer layer);
  /// The output projection [vocab, hidden]: the embedding itself when they are tied.
  const at::Tensor& outputProjection() const;

 private:
  void add(const std::string& name, at::Tensor tensor);

  std::vector<std::string> names_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace ringscope::engine
