// SPDX-License-Identifier: Apache-2.0
#include "engine/model/rope_scaling.h"

#include <cmath>

#include "engine/model/config_checks.h"

namespace ringscope::engine {

using nlohmann::json;

namespace {

double positiveNumber(const json& j, const char* key, const std::string& source) {
  refuseUnless(j.contains(key) && j[key].is_number() && j[key].get<double>() > 0, source,
               std::string("rope scaling lacks a positive ") + key);
  return j[key].get<double>();
}

/// Returns a number of a rope scaling that may be missing, null or 0.
double numberOr(const json& j, const char* key, double otherwise, const std::string& source) {
  const json value = j.value(key, json());
  const bool missing = value.is_null() || (value.is_number() && value.get<double>() == 0);
  return missing ? otherwise : positiveNumber(j, key, source);
}

RopeScaling llama3Scaling(const json& j, const std::string& source) {
  RopeScaling scaling;
  scaling.factor = positiveNumber(j, "factor", source);
  scaling.low_freq_factor = positiveNumber(j, "low_freq_factor", source);
  scaling.high_freq_factor = positiveNumber(j, "high_freq_factor", source);
  scaling.original_max_position_embeddings =
      positiveNumber(j, "original_max_position_embeddings", source);
  refuseUnless(scaling.high_freq_factor > scaling.low_freq_factor, source,
               "high_freq_factor must be above low_freq_factor");
  return scaling;
}

/// Returns YaRN's scaling. Like transformers, it infers the factor of cos and sin from `factor`, or
/// from mscale and mscale_all_dim.
RopeScaling yarnScaling(const json& j, const std::string& source) {
  RopeScaling scaling;
  scaling.kind = RopeKind::kYarn;
  scaling.factor = positiveNumber(j, "factor", source);
  scaling.original_max_position_embeddings =
      positiveNumber(j, "original_max_position_embeddings", source);
  scaling.beta_fast = numberOr(j, "beta_fast", scaling.beta_fast, source);
  scaling.beta_slow = numberOr(j, "beta_slow", scaling.beta_slow, source);
  scaling.truncate = j.value("truncate", true);
  const auto grown = [&](double by) {
    return scaling.factor <= 1 ? 1 : 0.1 * by * std::log(scaling.factor) + 1;
  };
  const double mscale = numberOr(j, "mscale", 0, source),
               of_all = numberOr(j, "mscale_all_dim", 0, source);
  scaling.attention_factor =
      numberOr(j, "attention_factor",
               mscale > 0 && of_all > 0 ? grown(mscale) / grown(of_all) : grown(1), source);
  return scaling;
}

}  // namespace

RopeScaling readRopeScaling(const std::string& type, const json& j, const std::string& source) {
  if (type == "llama3") return llama3Scaling(j, source);
  if (type == "yarn") return yarnScaling(j, source);
  refuseUnless(
      type == "linear" || type == "dynamic", source,
      "rope_type " + type + " is not supported, only default, linear, dynamic, llama3 and yarn");
  RopeScaling scaling;
  scaling.kind = type == "linear" ? RopeKind::kLinear : RopeKind::kDynamic;
  scaling.factor = positiveNumber(j, "factor", source);
  if (scaling.kind == RopeKind::kDynamic)
    scaling.max_position_embeddings = positiveNumber(j, "max_position_embeddings", source);
  return scaling;
}

json writeRopeScaling(const RopeScaling& s) {
  const auto length = static_cast<std::int64_t>(s.original_max_position_embeddings);
  switch (s.kind) {
    case RopeKind::kLinear:
      return {{"rope_type", "linear"}, {"factor", s.factor}};
    case RopeKind::kDynamic:
      return {{"rope_type", "dynamic"}, {"factor", s.factor}};
    case RopeKind::kLlama3:
      return {{"rope_type", "llama3"},
              {"factor", s.factor},
              {"low_freq_factor", s.low_freq_factor},
              {"high_freq_factor", s.high_freq_factor},
              {"original_max_position_embeddings", length}};
    case RopeKind::kYarn:
      break;
  }
  return {{"rope_type", "yarn"},
          {"factor", s.factor},
          {"beta_fast", s.beta_fast},
          {"beta_slow", s.beta_slow},
          {"attention_factor", s.attention_factor},
          {"truncate", s.truncate},
          {"original_max_position_embeddings", length}};
}

}  // namespace ringscope::engine
