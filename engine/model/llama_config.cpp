// SPDX-License-Identifier: Apache-2.0
#include "engine/model/llama_config.h"

#include <cmath>
#include <filesystem>

#include "traces/core/error.h"
#include "traces/core/input_file.h"
#include "traces/core/json.h"

namespace ringscope::engine {
namespace {

using nlohmann::json;

void refuseUnless(bool fine, const std::string& source, const std::string& what) {
  if (!fine) throw inputError(source + ": " + what);
}

std::int64_t positive(const json& j, const char* key, const std::string& source) {
  refuseUnless(j.contains(key) && j[key].is_number_integer(), source, std::string("lacks ") + key);
  const auto value = j[key].get<std::int64_t>();
  refuseUnless(value > 0 && value < (1 << 24), source,
               std::string(key) + " = " + std::to_string(value) + " cannot be");
  return value;
}

/// Also refuses what is not a number.
void refuseOutside(double value, double least, double most, const char* key,
                   const std::string& source) {
  refuseUnless(value >= least && value <= most, source,
               std::string(key) + " = " + json(value).dump() + " cannot be");
}

RopeScaling llama3Scaling(const json& j, const std::string& source) {
  auto number = [&](const char* key) {
    refuseUnless(j.contains(key) && j[key].is_number() && j[key].get<double>() > 0, source,
                 std::string("rope scaling lacks a positive ") + key);
    return j[key].get<double>();
  };
  const RopeScaling scaling{number("factor"), number("low_freq_factor"), number("high_freq_factor"),
                            number("original_max_position_embeddings")};
  refuseUnless(scaling.high_freq_factor > scaling.low_freq_factor, source,
               "high_freq_factor must be above low_freq_factor");
  return scaling;
}

/// New configurations keep the base and the scaling under rope_parameters, older ones apart.
void readRope(LlamaConfig& c, const json& j, const std::string& source) {
  const json parameters = j.value("rope_parameters", json()),
             older = j.value("rope_scaling", json());
  const json& scaling = parameters.is_object() ? parameters : older;
  c.rope_theta = parameters.is_object() ? parameters.value("rope_theta", 10000.0)
                                        : j.value("rope_theta", 10000.0);
  if (!scaling.is_object()) return;
  const std::string type = scaling.value("rope_type", scaling.value("type", "default"));
  refuseUnless(type == "default" || type == "llama3", source,
               "rope_type " + type + " is not supported, only default and llama3");
  if (type == "llama3") c.rope_scaling = llama3Scaling(scaling, source);
}

LlamaConfig fromJson(const json& j, const std::string& source) {
  refuseUnless(j.value("model_type", "") == "llama", source,
               "model_type is '" + j.value("model_type", "") + "'; only llama is supported");
  refuseUnless(j.value("hidden_act", "silu") == "silu", source, "hidden_act must be silu");
  refuseUnless(!j.value("mlp_bias", false), source, "mlp_bias is not supported");
  LlamaConfig c;
  c.vocab_size = positive(j, "vocab_size", source);
  c.hidden_size = positive(j, "hidden_size", source);
  c.intermediate_size = positive(j, "intermediate_size", source);
  c.num_hidden_layers = positive(j, "num_hidden_layers", source);
  c.num_attention_heads = positive(j, "num_attention_heads", source);
  c.num_key_value_heads = j.contains("num_key_value_heads")
                              ? positive(j, "num_key_value_heads", source)
                              : c.num_attention_heads;
  c.head_dim = j.contains("head_dim") && !j["head_dim"].is_null()
                   ? positive(j, "head_dim", source)
                   : c.hidden_size / c.num_attention_heads;
  refuseUnless(c.num_attention_heads % c.num_key_value_heads == 0, source,
               std::to_string(c.num_attention_heads) + " query heads do not divide into " +
                   std::to_string(c.num_key_value_heads) + " key-value heads");
  refuseUnless(c.head_dim % 2 == 0, source, "head_dim must be even for the rotary embedding");
  c.rms_norm_eps = j.value("rms_norm_eps", 1e-6);
  readRope(c, j, source);
  c.attention_bias = j.value("attention_bias", false);
  c.initializer_range = j.value("initializer_range", 0.02);
  refuseOutside(c.rms_norm_eps, 0, 1, "rms_norm_eps", source);
  refuseOutside(c.rope_theta, 1, 1e15, "rope_theta", source);
  refuseOutside(c.initializer_range, 0, 100, "initializer_range", source);
  c.tie_word_embeddings = j.value("tie_word_embeddings", false);
  return c;
}

}  // namespace

double LlamaConfig::attentionScale() const {
  return 1.0 / std::sqrt(static_cast<double>(head_dim));
}

LlamaConfig LlamaConfig::parse(const std::string& text, const std::string& source) {
  const json j = traces::parseJson(text, source);
  refuseUnless(j.is_object(), source, "is not a JSON object");
  try {
    return fromJson(j, source);
  } catch (const json::exception& error) {
    throw inputError(source + ": " + error.what());
  }
}

nlohmann::json LlamaConfig::toJson(const std::string& dtype) const {
  json rope = {{"rope_type", "default"}, {"rope_theta", rope_theta}};
  if (rope_scaling)
    rope = {{"rope_type", "llama3"},
            {"rope_theta", rope_theta},
            {"factor", rope_scaling->factor},
            {"low_freq_factor", rope_scaling->low_freq_factor},
            {"high_freq_factor", rope_scaling->high_freq_factor},
            {"original_max_position_embeddings", rope_scaling->original_max_position_embeddings}};
  return {{"architectures", {"LlamaForCausalLM"}},
          {"model_type", "llama"},
          {"hidden_act", "silu"},
          {"vocab_size", vocab_size},
          {"hidden_size", hidden_size},
          {"intermediate_size", intermediate_size},
          {"num_hidden_layers", num_hidden_layers},
          {"num_attention_heads", num_attention_heads},
          {"num_key_value_heads", num_key_value_heads},
          {"head_dim", head_dim},
          {"rms_norm_eps", rms_norm_eps},
          {"rope_parameters", rope},
          {"initializer_range", initializer_range},
          {"tie_word_embeddings", tie_word_embeddings},
          {"attention_bias", attention_bias},
          {"mlp_bias", false},
          {"dtype", dtype}};
}

LlamaConfig LlamaConfig::load(const std::string& folder) {
  const std::string path = folder + "/config.json";
  if (!std::filesystem::exists(path))
    throw inputError(path +
                     ": no such file; --model takes a Hugging Face folder with config.json and "
                     "model.safetensors");
  return parse(traces::readFile(path, traces::kMaxJsonBytes), path);
}

}  // namespace ringscope::engine
