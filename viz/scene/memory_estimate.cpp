// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/memory_estimate.h"

#include <algorithm>
#include <fstream>

#include "traces/core/error.h"
#include "traces/core/json.h"

namespace ringscope::viz {

std::int64_t ModelShape::parameters() const {
  const std::int64_t attention = hidden * head_dim * (2 * heads + 2 * kv_heads);
  const std::int64_t layer = attention + 3 * hidden * intermediate + 2 * hidden;
  return vocabulary * hidden * (tied ? 1 : 2) + layers * layer + hidden;
}

ModelShape ModelShape::load(const std::string& folder) {
  const std::string path = folder + "/config.json";
  std::ifstream in(path);
  if (!in) throw inputError(path + " cannot be read; a model is a Hugging Face folder with one");
  const auto json = traces::readJson(path);
  if (!json.is_object()) throw inputError(path + " is not a JSON object");
  ModelShape shape;
  shape.name = folder.substr(folder.find_last_of('/') + 1);
  try {
    shape.vocabulary = json.at("vocab_size");
    shape.hidden = json.at("hidden_size");
    shape.intermediate = json.at("intermediate_size");
    shape.layers = json.at("num_hidden_layers");
    shape.heads = json.at("num_attention_heads");
    shape.kv_heads = json.value("num_key_value_heads", shape.heads);
    shape.head_dim = json.value("head_dim", shape.hidden / std::max<std::int64_t>(1, shape.heads));
    shape.tied = json.value("tie_word_embeddings", false);
  } catch (const nlohmann::json::exception& error) {
    throw inputError(path + ": " + error.what());
  }
  return shape;
}

MemoryEstimate estimateMemory(const ModelShape& m, std::int64_t tokens, int tp, int cp,
                              const std::string& dtype) {
  const std::int64_t element_bytes = dtype == "float64" ? 8 : dtype == "bfloat16" ? 2 : 4;
  const std::int64_t state_bytes = dtype == "bfloat16" ? 2 + 4 + 4 + 8 : 4 * element_bytes;
  const std::int64_t q = m.heads / tp * m.head_dim,
                     kv = std::max<std::int64_t>(1, m.kv_heads / tp) * m.head_dim;
  // Inputs of both norms and both projections, q, k, v, out, the two MLP branches and their
  // product, and rotary copies; then logits with their gradient and softmax.
  const std::int64_t per_layer = 6 * m.hidden + 3 * q + 3 * kv + 4 * m.intermediate / tp;
  const std::int64_t per_token = m.layers * per_layer + 3 * m.vocabulary / tp + 2 * m.hidden;
  return {m.parameters() / tp * state_bytes, tokens / cp * per_token * element_bytes};
}

}  // namespace ringscope::viz
