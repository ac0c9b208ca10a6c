// SPDX-License-Identifier: Apache-2.0
#include "engine/model/llama_slices.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

bool isKv(const std::string& name) {
  return name.find(".k_proj.") != std::string::npos || name.find(".v_proj.") != std::string::npos;
}

/// Reports whether a parameter is the norm of q's or k's heads. Every rank has the whole norm and
/// applies it to its own heads.
bool isHeadNorm(const std::string& name) {
  return name.ends_with(".q_norm.weight") || name.ends_with(".k_norm.weight");
}

/// Returns the dimension along which a parameter is cut; -1: every rank has the whole parameter.
int slicedDim(const std::string& name) {
  for (const char* columns : {".q_proj.", ".k_proj.", ".v_proj.", ".gate_proj.", ".up_proj."})
    if (name.find(columns) != std::string::npos) return 0;
  if (name.ends_with(".self_attn.sinks")) return 0;
  if (name.ends_with("embed_tokens.weight") || name == "lm_head.weight") return 0;
  if (name.ends_with("o_proj.weight") || name.ends_with("down_proj.weight")) return 1;
  return -1;
}

/// Returns the number of ranks that hold each KV head.
int kvReplicas(const LlamaConfig& config, int size) {
  return std::max(1, size / static_cast<int>(config.num_key_value_heads));
}

}  // namespace

int LlamaSlices::replicas() const {
  return kvReplicas(*config_, tp_.size());
}

at::Tensor LlamaSlices::of(const std::string& name, const at::Tensor& full) const {
  const int dim = slicedDim(name);
  if (tp_.size() == 1 || dim < 0) return full;
  const int copies = isKv(name) ? replicas() : 1;
  const int part = tp_.rank().value() / copies;
  return full.chunk(tp_.size() / copies, dim)[static_cast<std::size_t>(part)].contiguous();
}

void LlamaSlices::sumShared(const std::string& name, at::Tensor& gradient) const {
  if (isHeadNorm(name) && tp_.size() > 1) tp_.sum(gradient, traces::Payload::kGrads);
  const int copies = replicas();
  if (!isKv(name) || copies == 1) return;
  auto shape = gradient.sizes().vec();
  shape.insert(shape.begin(), tp_.size() / copies);
  at::Tensor heads = at::zeros(shape, gradient.options());
  const int head = tp_.rank().value() / copies;
  heads[head].copy_(gradient);
  tp_.sum(heads, traces::Payload::kGrads);
  gradient.copy_(heads[head]);
}

bool LlamaSlices::isFirstHolder(const std::string& name) const {
  if (slicedDim(name) < 0) return tp_.rank() == GroupRank::of(0);
  return !isKv(name) || tp_.rank().value() % replicas() == 0;
}

void LlamaSlices::check(const LlamaConfig& c, int size) {
  auto require = [&](bool fine, std::int64_t count, const std::string& what) {
    if (!fine)
      throw usageError(std::to_string(count) + " " + what + " do not divide among tp = " +
                       std::to_string(size) + " ranks; use a --tp that divides them");
  };
  require(c.num_attention_heads % size == 0, c.num_attention_heads, "query heads");
  require(c.num_key_value_heads % size == 0 || size % c.num_key_value_heads == 0,
          c.num_key_value_heads, "key-value heads");
  require(c.intermediate_size % size == 0, c.intermediate_size, "feed-forward columns");
  require(c.vocab_size % size == 0, c.vocab_size, "tokens of the vocabulary");
}

at::Tensor LlamaSlices::whole(const std::string& name, const std::vector<at::Tensor>& slices) {
  const int dim = slicedDim(name);
  return slices.size() == 1 || dim < 0 ? slices.front() : at::cat(slices, dim);
}

at::Tensor LlamaSlices::joined(const std::string& name, const std::vector<at::Tensor>& slices,
                               const LlamaConfig& config) {
  const int copies = isKv(name) ? kvReplicas(config, static_cast<int>(slices.size())) : 1;
  std::vector<at::Tensor> of_first_holders;
  for (std::size_t r = 0; r < slices.size(); r += static_cast<std::size_t>(copies))
    of_first_holders.push_back(slices[r]);
  return whole(name, of_first_holders);
}

}  // namespace ringscope::engine
