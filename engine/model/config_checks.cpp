// SPDX-License-Identifier: Apache-2.0
#include "engine/model/config_checks.h"

#include <set>
#include <vector>

namespace ringscope::engine {
namespace {

using nlohmann::json;

/// A key whose number is above 0 in configurations of models with this part.
struct PartKey {
  const char *key, *part;
};
constexpr PartKey kUnsupportedParts[] = {
    {"num_local_experts", "a mixture of experts"}, {"num_experts", "a mixture of experts"},
    {"n_routed_experts", "a mixture of experts"},  {"moe_num_experts", "a mixture of experts"},
    {"kv_lora_rank", "latent attention"},          {"state_size", "recurrent layers"},
    {"mamba_d_state", "recurrent layers"},         {"lru_width", "recurrent layers"},
    {"linear_num_key_heads", "recurrent layers"}};

/// Returns the layer types other than those of attention with and without a sliding window.
std::set<std::string> otherLayerTypes(const json& config) {
  std::set<std::string> others;
  const json types = config.value("layer_types", json());
  if (!types.is_array()) return others;
  for (const json& type : types)
    if (type != "full_attention" && type != "sliding_attention") others.insert(type.dump());
  return others;
}

}  // namespace

void refuseUnsupportedParts(const json& config, const std::string& source) {
  std::string found;
  const auto add = [&](const std::string& part) { found += (found.empty() ? "" : " and ") + part; };
  for (const PartKey& part : kUnsupportedParts)
    if (const json value = config.value(part.key, json()); value.is_number() && value > 0)
      add(std::string(part.part) + " (" + part.key + " = " + value.dump() + ")");
  for (const std::string& type : otherLayerTypes(config)) add("layers of the type " + type);
  refuseUnless(found.empty(), source,
               "the model '" + config.value("model_type", "") + "' has " + found +
                   ", which RingScope does not support; use a model with attention and a dense MLP "
                   "in every layer");
}

}  // namespace ringscope::engine
