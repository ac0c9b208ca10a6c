// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/clock/model_sizes.h"

#include <algorithm>
#include <filesystem>

#include "traces/format/core/error.h"
#include "traces/format/core/json.h"

namespace ringscope::traces {
namespace {

/// Reads a size from a configuration. A missing key gives `fallback`, if that is not 0.
std::int64_t readSize(const nlohmann::json& config, const char* key, const std::string& source,
                      std::int64_t fallback = 0) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) {
    if (fallback > 0) return fallback;
    throw inputError(source + ": lacks " + key);
  }
  if (!found->is_number_integer()) throw inputError(source + ": " + key + " is no whole number");
  const auto value = found->get<std::int64_t>();
  if (value < 1 || value >= (1 << 24))
    throw inputError(source + ": " + key + " = " + std::to_string(value) + " cannot be");
  return value;
}

}  // namespace

std::int64_t ModelSizes::parameters() const {
  const std::int64_t attention = hidden_size * head_dim * (2 * heads + 2 * kv_heads);
  const std::int64_t mlp = 3 * hidden_size * intermediate_size;
  const std::int64_t norms = (2 * layers + 1) * hidden_size;
  return layers * (attention + mlp) + norms + (tied_embeddings ? 1 : 2) * vocab_size * hidden_size;
}

ModelSizes ModelSizes::shard(std::int32_t tp) const {
  ModelSizes part = *this;
  part.heads /= tp;
  part.kv_heads = std::max<std::int64_t>(1, kv_heads / tp);
  part.intermediate_size /= tp;
  part.vocab_size /= tp;
  return part;
}

ModelSizes readModelSizes(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string source = fs::is_directory(path) ? path + "/config.json" : path;
  if (!fs::exists(source))
    throw inputError(source +
                     ": no such file; --model takes a Hugging Face folder or its config.json");
  const nlohmann::json config = readJson(source);
  if (!config.is_object()) throw inputError(source + ": is not a JSON object");
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"})
    if (config.contains(key))
      throw inputError(source + ": is a mixture of experts, whose work this model does not know");
  ModelSizes sizes;
  const fs::path folder = fs::absolute(source).lexically_normal().parent_path();
  sizes.name = folder.filename().string();
  sizes.layers = readSize(config, "num_hidden_layers", source);
  sizes.hidden_size = readSize(config, "hidden_size", source);
  sizes.heads = readSize(config, "num_attention_heads", source);
  sizes.kv_heads = readSize(config, "num_key_value_heads", source, sizes.heads);
  sizes.head_dim = readSize(config, "head_dim", source, sizes.hidden_size / sizes.heads);
  sizes.intermediate_size = readSize(config, "intermediate_size", source);
  sizes.vocab_size = readSize(config, "vocab_size", source);
  const auto tied = config.find("tie_word_embeddings");
  sizes.tied_embeddings = tied != config.end() && tied->is_boolean() && tied->get<bool>();
  if (sizes.heads % sizes.kv_heads != 0)
    throw inputError(source + ": " + std::to_string(sizes.heads) +
                     " query heads do not divide into " + std::to_string(sizes.kv_heads) +
                     " key-value heads");
  return sizes;
}

}  // namespace ringscope::traces
