// SPDX-License-Identifier: Apache-2.0
#include "engine/model/llama_weights.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <filesystem>
#include <functional>

#include "engine/observe/memory_tracker.h"
#include "engine/tensors/tensor_io.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"

namespace ringscope::engine {
namespace {

using traces::Layer;
using Shape = std::vector<std::int64_t>;

/// Returns the file of each tensor by the tensor's name.
std::map<std::string, std::string> filesOf(const std::string& folder) {
  const std::string index = folder + "/model.safetensors.index.json";
  if (!std::filesystem::exists(index)) return {};
  const auto listed = traces::readJson(index);
  if (!listed.is_object() || !listed.value("weight_map", nlohmann::json()).is_object())
    throw inputError(index + ": has no weight_map");
  const auto refused = [&](const std::string& name) {
    return inputError(index + ": the file of '" + name + "' is not a file of this folder");
  };
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : listed["weight_map"].items()) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    if (text.empty() || text.find('/') != std::string::npos) throw refused(name);
    files[name] = text;
  }
  return files;
}

/// Calls `visit` with the name and shape of each of a model's parameters, in order. Collects
/// nothing beforehand, because a configuration may claim many more layers than it has weights.
void visitParameters(const LlamaConfig& c,
                     const std::function<void(const std::string&, const Shape&)>& visit) {
  const std::int64_t q = c.num_attention_heads * c.head_dim,
                     kv = c.num_key_value_heads * c.head_dim;
  visit("model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
  for (Layer l = Layer::of(0); l.value() < c.num_hidden_layers; l = l.next()) {
    visit(LlamaWeights::nameFor(l, "input_layernorm.weight"), {c.hidden_size});
    visit(LlamaWeights::nameFor(l, "self_attn.q_proj.weight"), {q, c.hidden_size});
    visit(LlamaWeights::nameFor(l, "self_attn.k_proj.weight"), {kv, c.hidden_size});
    visit(LlamaWeights::nameFor(l, "self_attn.v_proj.weight"), {kv, c.hidden_size});
    visit(LlamaWeights::nameFor(l, "self_attn.o_proj.weight"), {c.hidden_size, q});
    visit(LlamaWeights::nameFor(l, "post_attention_layernorm.weight"), {c.hidden_size});
    if (c.isGemma2()) {
      visit(LlamaWeights::nameFor(l, "pre_feedforward_layernorm.weight"), {c.hidden_size});
      visit(LlamaWeights::nameFor(l, "post_feedforward_layernorm.weight"), {c.hidden_size});
    }
    visit(LlamaWeights::nameFor(l, "mlp.gate_proj.weight"), {c.intermediate_size, c.hidden_size});
    visit(LlamaWeights::nameFor(l, "mlp.up_proj.weight"), {c.intermediate_size, c.hidden_size});
    visit(LlamaWeights::nameFor(l, "mlp.down_proj.weight"), {c.hidden_size, c.intermediate_size});
    if (c.head_norm) {
      visit(LlamaWeights::nameFor(l, "self_attn.q_norm.weight"), {c.head_dim});
      visit(LlamaWeights::nameFor(l, "self_attn.k_norm.weight"), {c.head_dim});
    }
    if (c.attention_bias) {
      visit(LlamaWeights::nameFor(l, "self_attn.q_proj.bias"), {q});
      visit(LlamaWeights::nameFor(l, "self_attn.k_proj.bias"), {kv});
      visit(LlamaWeights::nameFor(l, "self_attn.v_proj.bias"), {kv});
    }
    if (c.attention_sinks) visit(LlamaWeights::sinksName(l), {c.num_attention_heads});
    if (c.output_bias) visit(LlamaWeights::nameFor(l, "self_attn.o_proj.bias"), {c.hidden_size});
  }
  visit("model.norm.weight", {c.hidden_size});
  if (!c.tie_word_embeddings) visit("lm_head.weight", {c.vocab_size, c.hidden_size});
}

}  // namespace

void LlamaWeights::add(const std::string& name, at::Tensor tensor) {
  names_.push_back(name);
  tensors_[name] = std::move(tensor);
}

LlamaWeights LlamaWeights::random(const LlamaConfig& config, std::uint64_t seed,
                                  at::ScalarType type) {
  auto generator = at::detail::createCPUGenerator(seed);
  LlamaWeights weights;
  LlamaConfig without_sinks = config;
  without_sinks.attention_sinks = false;
  visitParameters(without_sinks, [&](const std::string& name, const Shape& shape) {
    const bool zero = name.ends_with(".bias") || config.isGemma2();  // norms multiply by 1 + weight
    weights.add(name, shape.size() == 1
                          ? at::full(shape, zero ? 0 : 1, type)
                          : (at::randn(shape, generator) * config.initializer_range).to(type));
  });
  if (config.attention_sinks) weights.drawSinks(config, seed, type);
  return weights;
}

void LlamaWeights::drawSinks(const LlamaConfig& config, std::uint64_t seed, at::ScalarType type) {
  constexpr double kDeviation = 0.5;
  auto generator = at::detail::createCPUGenerator(~seed);  // independent of the other parameters'
                                                           // generator
  for (Layer l = Layer::of(0); l.value() < config.num_hidden_layers; l = l.next())
    add(sinksName(l), (at::randn({config.num_attention_heads}, generator) * kDeviation).to(type));
}

LlamaWeights LlamaWeights::load(const LlamaConfig& config, const std::string& folder,
                                at::ScalarType type) {
  const auto files = filesOf(folder);
  std::map<std::string, traces::SafeTensorsFile> open;
  LlamaWeights weights;
  visitParameters(config, [&](const std::string& name, const Shape& shape) {
    const auto listed = files.find(name);
    if (!files.empty() && listed == files.end())
      throw inputError(folder + "/model.safetensors.index.json: does not list '" + name + "'");
    const std::string path = folder + "/" + (files.empty() ? "model.safetensors" : listed->second);
    auto file = open.find(path);
    if (file == open.end()) file = open.emplace(path, traces::SafeTensorsFile::read(path)).first;
    const traces::SafeTensorView& view = file->second.at(name);
    if (view.shape != shape)
      throw inputError(path + ": '" + name + "' does not have the shape that config.json says");
    weights.add(name, toTensor(view, name).to(type));
  });
  return weights;
}

LlamaWeights LlamaWeights::replica(at::ScalarType type, const Slicer& slice,
                                   at::Device device) const {
  LlamaWeights copy;
  for (const std::string& name : names_) {
    const at::Tensor full = tensors_.at(name).detach();
    copy.add(name,
             (slice ? slice(name, full) : full).to(device, type, false, true).requires_grad_());
  }
  return copy;
}

LlamaWeights LlamaWeights::of(std::vector<std::string> names,
                              std::map<std::string, at::Tensor> tensors) {
  LlamaWeights weights;
  weights.names_ = std::move(names);
  weights.tensors_ = std::move(tensors);
  return weights;
}

std::map<std::string, at::Tensor> LlamaWeights::values() const {
  std::map<std::string, at::Tensor> values;
  for (const auto& [name, tensor] : tensors_) values[name] = tensor.detach();
  return values;
}

at::Tensor LlamaWeights::biasFor(Layer layer, const std::string& projection) const {
  const auto found = tensors_.find(LlamaWeights::nameFor(layer, projection + ".bias"));
  return found == tensors_.end() ? at::Tensor() : found->second;
}

at::Tensor LlamaWeights::sinksFor(Layer layer) const {
  const auto found = tensors_.find(sinksName(layer));
  return found == tensors_.end() ? at::Tensor() : found->second;
}

std::string LlamaWeights::nameFor(Layer layer, const std::string& name) {
  return "model.layers." + toString(layer) + "." + name;
}

std::string LlamaWeights::sinksName(Layer layer) {
  return LlamaWeights::nameFor(layer, "self_attn.sinks");
}

const at::Tensor& LlamaWeights::ofLayer(Layer layer, const std::string& name) const {
  return tensors_.at(LlamaWeights::nameFor(layer, name));
}

const at::Tensor& LlamaWeights::outputProjection() const {
  const auto head = tensors_.find("lm_head.weight");
  return head == tensors_.end() ? tensors_.at("model.embed_tokens.weight") : head->second;
}

void LlamaWeights::zeroGradients() const {
  const MemoryScope scope(MemoryCategory::kGradients);
  for (const std::string& name : names_) {
    at::Tensor& grad = (*this)[name].mutable_grad();
    if (grad.defined())
      grad.zero_();
    else
      grad = at::zeros_like((*this)[name].detach());
  }
}

}  // namespace ringscope::engine
