// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/observed_parts.h"

#include <cmath>

#include "traces/format/trace/note_fields.h"

namespace ringscope::traces {
namespace {

PartialMerge readMerge(const nlohmann::json& object) {
  PartialMerge merge;
  const std::int64_t layer = wholeIn(object, "layer", -1);
  if (layer >= 0 && layer < (1 << 20)) merge.layer = Layer::of(static_cast<std::int32_t>(layer));
  merge.microbatch = stepIn(object, "microbatch");
  merge.found = textIn(object, "found");
  merge.detail = textIn(object, "detail");
  merge.factor = numberIn(object, "factor");
  const auto appended = object.find("appended");
  if (appended != object.end() && appended->is_boolean()) merge.appended = appended->get<bool>();
  merge.members = ranksIn(object, "members");
  return merge;
}

CausalConvolution readConvolution(const nlohmann::json& object) {
  return {stepIn(object, "microbatch"),        textIn(object, "module"),
          wholeIn(object, "tokens", 0),        wholeIn(object, "before", 0),
          flagIn(object, "begins_with_zeros"), flagIn(object, "tail_moved")};
}

ScatteredFeatures readFeatures(const nlohmann::json& object) {
  return {stepIn(object, "microbatch"), wholeIn(object, "tokens", 0), wholeIn(object, "rows", 0),
          wholeIn(object, "used", 0), textIn(object, "hash")};
}

}  // namespace

std::string partialMergesKey(std::int32_t train_step) {
  return "partial_merges." + std::to_string(train_step);
}

std::string causalConvolutionsKey(std::int32_t train_step) {
  return "causal_convolutions." + std::to_string(train_step);
}

std::string scatteredFeaturesKey(std::int32_t train_step) {
  return "scattered_features." + std::to_string(train_step);
}

std::vector<PartialMerge> partialMerges(const Trace& trace, std::int32_t train_step,
                                        WorldRank rank) {
  return objectsIn<PartialMerge>(trace.note(partialMergesKey(train_step)), toString(rank),
                                 readMerge);
}

std::vector<CausalConvolution> causalConvolutions(const Trace& trace, std::int32_t train_step,
                                                  WorldRank rank) {
  return objectsIn<CausalConvolution>(trace.note(causalConvolutionsKey(train_step)), toString(rank),
                                      readConvolution);
}

std::vector<ScatteredFeatures> scatteredFeatures(const Trace& trace, std::int32_t train_step,
                                                 WorldRank rank) {
  return objectsIn<ScatteredFeatures>(trace.note(scatteredFeaturesKey(train_step)), toString(rank),
                                      readFeatures);
}

nlohmann::json toJson(const PartialMerge& merge) {
  nlohmann::json object = {{"layer", merge.layer.exists() ? merge.layer.value() : -1},
                           {"microbatch", merge.microbatch},
                           {"found", merge.found},
                           {"detail", merge.detail}};
  if (std::isfinite(merge.factor)) object["factor"] = merge.factor;
  if (merge.appended) object["appended"] = *merge.appended;
  for (const WorldRank rank : merge.members) object["members"].push_back(rank.value());
  return object;
}

nlohmann::json toJson(const CausalConvolution& convolution) {
  return {{"microbatch", convolution.microbatch},
          {"module", convolution.module},
          {"tokens", convolution.tokens},
          {"before", convolution.before},
          {"begins_with_zeros", convolution.begins_with_zeros},
          {"tail_moved", convolution.tail_moved}};
}

nlohmann::json toJson(const ScatteredFeatures& features) {
  return {{"microbatch", features.microbatch},
          {"tokens", features.tokens},
          {"rows", features.rows},
          {"used", features.used},
          {"hash", features.hash}};
}

}  // namespace ringscope::traces
