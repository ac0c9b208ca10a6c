// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/memory_estimate.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "traces/format/core/error.h"
#include "traces/format/core/json.h"

namespace ringscope::viz {

namespace {

/// More than any model has, and so little that a product of four sizes is a number.
constexpr std::int64_t kMostSize = std::int64_t{1} << 31;

/// A size in the configuration; one that is left out is `otherwise`.
std::int64_t sizeIn(const nlohmann::json& json, const char* field, const std::string& path,
                    std::optional<std::int64_t> otherwise = {}) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null()) {
    if (otherwise) return *otherwise;
    throw inputError(path + ": '" + field + "' is missing");
  }
  const bool fits = found->is_number_integer() && found->get<double>() >= 1 &&
                    found->get<double>() <= static_cast<double>(kMostSize);
  if (!fits)
    throw inputError(path + ": '" + field + "' is no whole number from 1 to " +
                     std::to_string(kMostSize));
  return found->get<std::int64_t>();
}

/// As many as can be counted.
std::int64_t counted(double count) {
  return static_cast<std::int64_t>(std::min(count, 0x1p61));
}

double real(std::int64_t size) {
  return static_cast<double>(size);
}

}  // namespace

std::int64_t ModelShape::parameters() const {
  const double attention = real(hidden) * real(head_dim) * real(2 * heads + 2 * kv_heads);
  const double layer = attention + 3 * real(hidden) * real(intermediate) + 2 * real(hidden);
  return counted(real(vocabulary) * real(hidden) * (tied ? 1 : 2) + real(layers) * layer +
                 real(hidden));
}

ModelShape ModelShape::load(const std::string& folder) {
  const std::string path = folder + "/config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw inputError(path + " cannot be read; a model is a Hugging Face folder with one");
  const auto json = traces::readJson(path);
  if (!json.is_object()) throw inputError(path + " is not a JSON object");
  ModelShape shape;
  shape.name = folder.substr(folder.find_last_of('/') + 1);
  shape.vocabulary = sizeIn(json, "vocab_size", path);
  shape.hidden = sizeIn(json, "hidden_size", path);
  shape.intermediate = sizeIn(json, "intermediate_size", path);
  shape.layers = sizeIn(json, "num_hidden_layers", path);
  shape.heads = sizeIn(json, "num_attention_heads", path);
  shape.kv_heads = sizeIn(json, "num_key_value_heads", path, shape.heads);
  shape.head_dim =
      sizeIn(json, "head_dim", path, std::max<std::int64_t>(1, shape.hidden / shape.heads));
  if (const auto tied = json.find("tie_word_embeddings"); tied != json.end()) {
    if (!tied->is_boolean())
      throw inputError(path + ": 'tie_word_embeddings' is neither true nor false");
    shape.tied = tied->get<bool>();
  }
  return shape;
}

MemoryEstimate estimateMemory(const ModelShape& m, std::int64_t tokens, int tp, int cp,
                              const std::string& dtype) {
  const std::int64_t element_bytes = dtype == "float64" ? 8 : dtype == "bfloat16" ? 2 : 4;
  const std::int64_t state_bytes = dtype == "bfloat16" ? 2 + 4 + 4 + 8 : 4 * element_bytes;
  const double q = real(m.heads / tp) * real(m.head_dim),
               kv = real(std::max<std::int64_t>(1, m.kv_heads / tp)) * real(m.head_dim);
  // Inputs of both norms and both projections, q, k, v, out, the two MLP branches and their
  // product, and rotary copies; then logits with their gradient and softmax.
  const double per_layer = 6 * real(m.hidden) + 3 * q + 3 * kv + real(4 * m.intermediate / tp);
  const double per_token =
      real(m.layers) * per_layer + real(3 * m.vocabulary / tp) + 2 * real(m.hidden);
  return {counted(real(m.parameters() / tp) * real(state_bytes)),
          counted(real(tokens / cp) * per_token * real(element_bytes))};
}

}  // namespace ringscope::viz
