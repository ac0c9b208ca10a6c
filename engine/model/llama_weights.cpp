// SPDX-License-Identifier: Apache-2.0
#include "engine/model/llama_weights.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "engine/tensors/tensor_io.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

using Shape = std::vector<std::int64_t>;

std::string layerName(std::int64_t layer, const std::string& name) {
  return "model.layers." + std::to_string(layer) + "." + name;
}

/// Every parameter with its shape, in the order of use.
std::vector<std::pair<std::string, Shape>> parameterList(const LlamaConfig& c) {
  const std::int64_t q = c.num_attention_heads * c.head_dim,
                     kv = c.num_key_value_heads * c.head_dim;
  std::vector<std::pair<std::string, Shape>> list = {
      {"model.embed_tokens.weight", {c.vocab_size, c.hidden_size}}};
  for (std::int64_t l = 0; l < c.num_hidden_layers; ++l) {
    list.insert(list.end(),
                {{layerName(l, "input_layernorm.weight"), {c.hidden_size}},
                 {layerName(l, "self_attn.q_proj.weight"), {q, c.hidden_size}},
                 {layerName(l, "self_attn.k_proj.weight"), {kv, c.hidden_size}},
                 {layerName(l, "self_attn.v_proj.weight"), {kv, c.hidden_size}},
                 {layerName(l, "self_attn.o_proj.weight"), {c.hidden_size, q}},
                 {layerName(l, "post_attention_layernorm.weight"), {c.hidden_size}},
                 {layerName(l, "mlp.gate_proj.weight"), {c.intermediate_size, c.hidden_size}},
                 {layerName(l, "mlp.up_proj.weight"), {c.intermediate_size, c.hidden_size}},
                 {layerName(l, "mlp.down_proj.weight"), {c.hidden_size, c.intermediate_size}}});
  }
  list.emplace_back("model.norm.weight", Shape{c.hidden_size});
  if (!c.tie_word_embeddings)
    list.emplace_back("lm_head.weight", Shape{c.vocab_size, c.hidden_size});
  return list;
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
  for (const auto& [name, shape] : parameterList(config))
    weights.add(name, shape.size() == 1
                          ? at::ones(shape, type)
                          : (at::randn(shape, generator) * config.initializer_range).to(type));
  return weights;
}

LlamaWeights LlamaWeights::load(const LlamaConfig& config, const std::string& folder,
                                at::ScalarType type) {
  const std::string path = folder + "/model.safetensors";
  const auto file = traces::SafeTensorsFile::read(path);
  LlamaWeights weights;
  for (const auto& [name, shape] : parameterList(config)) {
    const traces::SafeTensorView& view = file.at(name);
    if (view.shape != shape)
      throw inputError(path + ": '" + name + "' does not have the shape that config.json says");
    weights.add(name, toTensor(view, name).to(type));
  }
  return weights;
}

LlamaWeights LlamaWeights::replica(at::ScalarType type) const {
  LlamaWeights copy;
  for (const std::string& name : names_)
    copy.add(name, tensors_.at(name).detach().to(type, false, true).requires_grad_());
  return copy;
}

const at::Tensor& LlamaWeights::ofLayer(std::int64_t layer, const std::string& name) const {
  return tensors_.at(layerName(layer, name));
}

const at::Tensor& LlamaWeights::outputProjection() const {
  const auto head = tensors_.find("lm_head.weight");
  return head == tensors_.end() ? tensors_.at("model.embed_tokens.weight") : head->second;
}

}  // namespace ringscope::engine
