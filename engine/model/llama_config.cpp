// SPDX-License-Identifier: Apache-2.0
#include "engine/model/llama_config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/model/config_checks.h"
#include "traces/format/core/error.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/json.h"

namespace ringscope::engine {
namespace {

using nlohmann::json;

constexpr const char *kSliding = "sliding_attention", *kFull = "full_attention";

std::int64_t positive(const json& j, const char* key, const std::string& source) {
  refuseUnless(j.contains(key) && j[key].is_number_integer(), source, std::string("lacks ") + key);
  const auto value = j[key].get<std::int64_t>();
  refuseUnless(value > 0 && value < (1 << 24), source,
               std::string(key) + " = " + std::to_string(value) + " cannot be");
  return value;
}

/// Throws inputError if the value is out of range or NaN.
void refuseOutside(double value, double least, double most, const char* key,
                   const std::string& source) {
  refuseUnless(value >= least && value <= most, source,
               std::string(key) + " = " + json(value).dump() + " cannot be");
}

/// Reads the rotary base and scaling. New configurations have both under rope_parameters; older
/// ones have rope_theta and rope_scaling.
void readRope(LlamaConfig& c, const json& j, const std::string& source) {
  const json parameters = j.value("rope_parameters", json()),
             older = j.value("rope_scaling", json());
  json scaling = parameters.is_object() ? parameters : older;
  c.rope_theta = parameters.is_object() ? parameters.value("rope_theta", 10000.0)
                                        : j.value("rope_theta", 10000.0);
  const json& of_heads = scaling.is_object() && scaling.contains("partial_rotary_factor")
                             ? scaling["partial_rotary_factor"]
                             : j.value("partial_rotary_factor", json(1.0));
  refuseUnless(
      of_heads == 1.0, source,
      "partial_rotary_factor " + of_heads.dump() + " is not supported, only heads that turn whole");
  if (!scaling.is_object()) return;
  const std::string type = scaling.value("rope_type", scaling.value("type", "default"));
  scaling["max_position_embeddings"] = j.value("max_position_embeddings", json());
  if (type != "default") c.rope_scaling = readRopeScaling(type, scaling, source);
}

/// The differences between the families, with the defaults of transformers for missing values.
struct FamilyTraits {
  LlamaFamily family;
  const char *model_type, *architecture;
  std::int64_t key_value_heads, head_dim;  ///< 0: number of query heads, hidden size / query heads
  std::int64_t window;
};
constexpr FamilyTraits kFamilies[] = {
    {LlamaFamily::kLlama, "llama", "LlamaForCausalLM", 0, 0, 0},
    {LlamaFamily::kMistral, "mistral", "MistralForCausalLM", 8, 0, 4096},
    {LlamaFamily::kQwen2, "qwen2", "Qwen2ForCausalLM", 32, 0, 4096},
    {LlamaFamily::kQwen3, "qwen3", "Qwen3ForCausalLM", 32, 128, 4096},
    {LlamaFamily::kGemma2, "gemma2", "Gemma2ForCausalLM", 4, 256, 4096}};

const FamilyTraits& traitsOf(LlamaFamily family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

const FamilyTraits& familyOf(const json& j, const std::string& source) {
  const std::string type = j.value("model_type", "");
  for (const FamilyTraits& traits : kFamilies)
    if (type == traits.model_type) return traits;
  throw inputError(source + ": model_type is '" + type +
                   "'; what can be read is llama, mistral, qwen2, qwen3 and gemma2");
}

bool isQwen(LlamaFamily family) {
  return family == LlamaFamily::kQwen2 || family == LlamaFamily::kQwen3;
}

/// Returns whether each layer has a sliding window. Newer configurations list the layers; older
/// ones of Qwen give the first layer.
std::vector<bool> slidingLayers(const LlamaConfig& c, const json& j, const std::string& source) {
  const json listed = j.value("layer_types", json());
  const std::int64_t layers = c.num_hidden_layers,
                     first = isQwen(c.family) ? j.value("max_window_layers", std::int64_t{28}) : 0;
  refuseUnless(!listed.is_array() || std::ssize(listed) == layers, source,
               "layer_types lists " + std::to_string(listed.size()) + " layers of " +
                   std::to_string(layers));
  std::vector<bool> sliding;
  // Transformers ignores the layer_types of a Mistral model, so a folder that lists others is
  // unclear.
  const bool unclear = c.family == LlamaFamily::kMistral && listed.is_array() &&
                       std::ranges::any_of(listed, [](const json& type) { return type == kFull; });
  refuseUnless(!unclear, source,
               "full_attention in layer_types of a mistral model is not supported");
  for (std::int64_t i = 0; i < layers; ++i)
    sliding.push_back(listed.is_array() ? listed[static_cast<std::size_t>(i)] == kSliding
                      : c.isGemma2()    ? i % 2 == 0
                                        : i >= first);
  return sliding;
}

/// Writes what only a Gemma 2 has.
void writeSoftcaps(const LlamaConfig& c, json& config) {
  const auto or_null = [](double value) { return value > 0 ? json(value) : json(); };
  config["hidden_activation"] = config["hidden_act"];
  config["query_pre_attn_scalar"] =
      c.query_pre_attn_scalar > 0 ? c.query_pre_attn_scalar : static_cast<double>(c.head_dim);
  config["attn_logit_softcapping"] = or_null(c.attn_logit_softcapping);
  config["final_logit_softcapping"] = or_null(c.final_logit_softcapping);
}

void readWindow(LlamaConfig& c, const json& j, const std::string& source) {
  const FamilyTraits& traits = traitsOf(c.family);
  if (traits.window == 0 || (isQwen(c.family) && !j.value("use_sliding_window", false))) return;
  if (j.contains("sliding_window") && j["sliding_window"].is_null()) return;
  const std::vector<bool> sliding = slidingLayers(c, j, source);
  if (std::ranges::find(sliding, true) == sliding.end()) return;
  c.sliding_window =
      j.contains("sliding_window") ? positive(j, "sliding_window", source) : traits.window;
  for (std::size_t i = 0; i < sliding.size(); ++i)
    if (!sliding[i]) c.layers_without_window.push_back(traces::Layer::of(i));
}

/// Returns layer_types of a configuration.
std::vector<std::string> layerTypes(const LlamaConfig& c) {
  std::vector<std::string> types(static_cast<std::size_t>(c.num_hidden_layers),
                                 c.sliding_window > 0 ? kSliding : kFull);
  for (const traces::Layer layer : c.layers_without_window) types[layer.index()] = kFull;
  return types;
}

/// Reads the settings of scores and logits, which only a Gemma 2 has.
void readSoftcaps(LlamaConfig& c, const json& j, const std::string& source) {
  const auto read = [&](const char* key, double otherwise) {
    const json value = j.value(key, json(otherwise));
    if (value.is_null()) return 0.0;
    refuseOutside(value.get<double>(), 1e-6, 1e9, key, source);
    return value.get<double>();
  };
  c.query_pre_attn_scalar = read("query_pre_attn_scalar", 256);
  c.attn_logit_softcapping = read("attn_logit_softcapping", 50);
  c.final_logit_softcapping = read("final_logit_softcapping", 30);
}

void readAttention(LlamaConfig& c, const json& j, const std::string& source) {
  const FamilyTraits& traits = traitsOf(c.family);
  const auto given = [&](const char* key, std::int64_t otherwise) {
    return j.contains(key) && !j[key].is_null() ? positive(j, key, source) : otherwise;
  };
  c.num_attention_heads = positive(j, "num_attention_heads", source);
  c.num_key_value_heads =
      given("num_key_value_heads",
            traits.key_value_heads > 0 ? traits.key_value_heads : c.num_attention_heads);
  c.head_dim = given("head_dim",
                     traits.head_dim > 0 ? traits.head_dim : c.hidden_size / c.num_attention_heads);
  refuseUnless(c.num_attention_heads % c.num_key_value_heads == 0, source,
               std::to_string(c.num_attention_heads) + " query heads do not divide into " +
                   std::to_string(c.num_key_value_heads) + " key-value heads");
  refuseUnless(c.head_dim % 2 == 0, source, "head_dim must be even for the rotary embedding");
  const bool said = c.family != LlamaFamily::kMistral && j.value("attention_bias", false);
  c.attention_bias = c.family == LlamaFamily::kQwen2 || said;
  c.output_bias = c.family != LlamaFamily::kQwen2 && said;
  c.head_norm = c.family == LlamaFamily::kQwen3;
  c.attention_sinks = j.value("attention_sinks", false);
  if (c.isGemma2()) readSoftcaps(c, j, source);
  readWindow(c, j, source);
}

/// Reads the padding token, which a negative number counts from the end.
void readPadding(LlamaConfig& c, const json& j, const std::string& source) {
  const json value = j.value("pad_token_id", c.isGemma2() ? json(0) : json());
  if (value.is_null()) return;
  const auto token = value.is_number_integer() ? value.get<std::int64_t>() : c.vocab_size;
  refuseUnless(token >= -c.vocab_size && token < c.vocab_size, source,
               "pad_token_id = " + value.dump() + " is no token of the vocabulary");
  c.pad_token_id = token < 0 ? token + c.vocab_size : token;
}

const char* activation(const LlamaConfig& c) {
  return c.isGemma2() ? "gelu_pytorch_tanh" : "silu";
}

LlamaConfig fromJson(const json& j, const std::string& source) {
  LlamaConfig c;
  refuseUnsupportedParts(j, source);
  c.family = familyOf(j, source).family;
  const char *key = c.isGemma2() ? "hidden_activation" : "hidden_act", *supported = activation(c);
  refuseUnless(j.value(key, supported) == supported, source,
               std::string(key) + " must be " + supported);
  refuseUnless(!j.value("mlp_bias", false), source, "mlp_bias is not supported");
  c.vocab_size = positive(j, "vocab_size", source);
  c.hidden_size = positive(j, "hidden_size", source);
  c.intermediate_size = positive(j, "intermediate_size", source);
  c.num_hidden_layers = positive(j, "num_hidden_layers", source);
  readAttention(c, j, source);
  c.rms_norm_eps = j.value("rms_norm_eps", 1e-6);
  readRope(c, j, source);
  c.initializer_range = j.value("initializer_range", 0.02);
  refuseOutside(c.rms_norm_eps, 0, 1, "rms_norm_eps", source);
  refuseOutside(c.rope_theta, 1, 1e15, "rope_theta", source);
  refuseOutside(c.initializer_range, 0, 100, "initializer_range", source);
  c.tie_word_embeddings = j.value("tie_word_embeddings", c.isGemma2());
  readPadding(c, j, source);
  return c;
}

}  // namespace

traces::ScoreRule LlamaConfig::scoreRule() const {
  const double width =
      query_pre_attn_scalar > 0 ? query_pre_attn_scalar : static_cast<double>(head_dim);
  return {1.0 / std::sqrt(width), attn_logit_softcapping};
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
  json rope = rope_scaling ? writeRopeScaling(*rope_scaling) : json{{"rope_type", "default"}};
  rope["rope_theta"] = rope_theta;
  const FamilyTraits& traits = traitsOf(family);
  json config = {{"architectures", {traits.architecture}},
                 {"model_type", traits.model_type},
                 {"hidden_act", activation(*this)},
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
                 {"dtype", dtype}};
  config["pad_token_id"] = pad_token_id ? json(*pad_token_id) : json();
  if (rope_scaling && rope_scaling->kind == RopeKind::kDynamic)
    config["max_position_embeddings"] =
        static_cast<std::int64_t>(rope_scaling->max_position_embeddings);
  if (family == LlamaFamily::kLlama) config["mlp_bias"] = false;
  if (family == LlamaFamily::kLlama || family == LlamaFamily::kQwen3 || isGemma2())
    config["attention_bias"] = attention_bias;
  if (isGemma2()) writeSoftcaps(*this, config);
  if (attention_sinks) config["attention_sinks"] = true;  // a key that only RingScope uses
  if (traits.window > 0)
    config["sliding_window"] = sliding_window > 0 ? json(sliding_window) : json();
  if (isQwen(family)) config["use_sliding_window"] = sliding_window > 0;
  if (isQwen(family) || !layers_without_window.empty()) config["layer_types"] = layerTypes(*this);
  return config;
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
