// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/rope_scaling.h"
#include "traces/format/schema/ids.h"
#include "traces/format/schema/score_rule.h"

namespace ringscope::engine {

/// Models that differ from a Llama in few points. Mistral has a sliding window, Qwen2 has biases of
/// q, k and v, and Qwen3 normalises each head of q and k. Gemma 2 has softcaps and more norms.
enum class LlamaFamily { kLlama, kMistral, kQwen2, kQwen3, kGemma2 };

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
  /// The token whose embedding gets no gradient as an input, like padding_idx of nn.Embedding.
  std::optional<std::int64_t> pad_token_id;
  bool attention_bias = false;   ///< for q, k, v
  bool output_bias = false;      ///< for o
  bool head_norm = false;        ///< RMS norm of each head of q and k, before the rotary embedding
  bool attention_sinks = false;  ///< one learnt logit per query head in every softmax
  std::int64_t sliding_window = 0;  ///< keys that a token attends, including itself; 0: all
  std::vector<traces::Layer> layers_without_window;  ///< only some layers; they attend all keys
  std::optional<RopeScaling> rope_scaling;
  double query_pre_attn_scalar = 0;    ///< scores are scaled by 1/sqrt of it; 0: of head_dim
  double attn_logit_softcapping = 0;   ///< c of the scores c·tanh(score / c); 0: none
  double final_logit_softcapping = 0;  ///< the same of the logits

  /// Returns how scores of attention follow from q·k.
  traces::ScoreRule scoreRule() const;
  /// Reports whether the model is a Gemma 2 (Gemma Team 2024, arXiv:2408.00118). It scales the
  /// embedded tokens by sqrt(hidden_size) and multiplies normed values by 1 + weight. It has two
  /// more norms per layer, and GELU in place of SiLU.
  bool isGemma2() const { return family == LlamaFamily::kGemma2; }

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
