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
  /// Draws weights from a normal distribution with initializer_range; norms multiply by 1. Equal
  /// seeds give equal weights on every rank. Drawing attention sinks changes no other parameter.
  static LlamaWeights random(const LlamaConfig& config, std::uint64_t seed, at::ScalarType type);
  /// Reads FOLDER/model.safetensors, or the files that FOLDER/model.safetensors.index.json names.
  /// Throws inputError that names a missing or misshapen tensor.
  static LlamaWeights load(const LlamaConfig& config, const std::string& folder,
                           at::ScalarType type);
  /// Makes weights of the named tensors without copying them.
  static LlamaWeights of(std::vector<std::string> names, std::map<std::string, at::Tensor> tensors);
  /// Adds attention sinks, drawn from a normal distribution with standard deviation 0.5, to a model
  /// that has none.
  void drawSinks(const LlamaConfig& config, std::uint64_t seed, at::ScalarType type);
  /// A function that returns a rank's part of a full parameter.
  using Slicer = std::function<at::Tensor(const std::string& name, const at::Tensor& full)>;
  /// Returns leaves with their own storage that collect gradients. Each rank trains its own
  /// replica, of whole parameters or of slices.
  LlamaWeights replica(at::ScalarType type, const Slicer& slice = {},
                       at::Device device = at::kCPU) const;
  const std::vector<std::string>& names() const { return names_; }
  const at::Tensor& operator[](const std::string& name) const { return tensors_.at(name); }
  /// Returns all parameters by name, outside autograd. They share storage with this object.
  std::map<std::string, at::Tensor> values() const;
  /// Gives every parameter a gradient of zeros, to which backward adds.
  void zeroGradients() const;
  /// Returns the parameter of a decoder layer, such as "self_attn.q_proj.weight".
  const at::Tensor& ofLayer(traces::Layer layer, const std::string& name) const;
  /// Returns a projection's bias; undefined if the model has none.
  at::Tensor biasFor(traces::Layer layer, const std::string& projection) const;
  /// Returns a layer's attention sinks, [Hq]; undefined if the model has none.
  at::Tensor sinksFor(traces::Layer layer) const;
  /// Returns the full name of a layer's parameter, such as "self_attn.q_proj.weight".
  static std::string nameFor(traces::Layer layer, const std::string& name);
  static std::string sinksName(traces::Layer layer);
  /// Returns the output projection, [vocab, hidden], which is the embedding itself if they are
  /// tied.
  const at::Tensor& outputProjection() const;

 private:
  void add(const std::string& name, at::Tensor tensor);

  std::vector<std::string> names_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace ringscope::engine
