// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/rope_scaling.h"
#include "traces/format/schema/ids.h"

namespace ringscope::engine {

/// Models that differ from a Llama in few points. Mistral has a sliding window, Qwen2 has biases of
/// q, k and v, and Qwen3 normalises each head of q and k.
enum class LlamaFamily { kLlama, kMistral, kQwen2, kQwen3 };

/// The configuration of a causal LM of the Llama family, with Hugging Face's names.
struct LlamaConfig {
  LlamaFamily family = LlamaFamily::kLlama;
  std::int64_t vocab_size = 256;
  std::int64_t hidden_size = 128;
  std::int64_t intermediate_size = 256;
  std::int64_t num_hidden_layers = 2;
  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 2;
  std::int64_t head_dim = 32;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  double initializer_range = 0.05;
  bool tie_word_embeddings = false;
  bool attention_bias = false;   ///< for q, k, v
  bool output_bias = false;      ///< for o
  bool head_norm = false;        ///< RMS norm of each head of q and k, before the rotary embedding
  bool attention_sinks = false;  ///< one learnt logit per query head in every softmax
  std::int64_t sliding_window = 0;  ///< keys that a token attends, including itself; 0: all
  std::vector<traces::Layer> layers_without_window;  ///< only some layers; they attend all keys
  std::optional<RopeScaling> rope_scaling;

  /// Returns the scale of attention scores: 1/sqrt(head_dim).
  double attentionScale() const;

  /// Parses the text of config.json; errors call it `source`. Reads the rotary base from
  /// rope_parameters (new) or rope_theta (old). Throws inputError that names an unsupported part or
  /// setting. Unsupported parts are those of refuseUnsupportedParts() and other model types.
  /// Unsupported settings are other rotary scalings, other activations, and biases of the MLP.
  static LlamaConfig parse(const std::string& text, const std::string& source);
  static LlamaConfig load(const std::string& folder);
  /// Returns the configuration as the contents of config.json.
  nlohmann::json toJson(const std::string& dtype) const;
};

}  // namespace ringscope::engine
