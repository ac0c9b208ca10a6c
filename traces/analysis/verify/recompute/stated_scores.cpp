// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/stated_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "traces/format/schema/attention_facts.h"

namespace ringscope::traces {

double positiveFact(const nlohmann::json& facts, const char* key) {
  const auto found = facts.find(key);
  if (found == facts.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return std::isfinite(value) && value > 0 ? value : 0;
}

StatedScores statedScores(const Trace& trace, Layer layer, std::int64_t head_dim) {
  StatedScores stated;
  stated.rule.scale = 1 / std::sqrt(static_cast<double>(head_dim));
  if (trace.run() && trace.run()->command != Command::kImport) stated.by = StatedBy::kDefault;
  const nlohmann::json& note = trace.note(kAttentionNote);
  const auto facts = note.is_object() ? note.find(toString(layer)) : note.end();
  if (facts == note.end() || !facts->is_object()) return stated;
  const auto by = facts->find("scale_by");
  if (by != facts->end()) stated.by = *by == "model" ? StatedBy::kModel : StatedBy::kDefault;
  if (const double scale = positiveFact(*facts, "scale"); scale > 0) {
    stated.rule.scale = scale;
    if (stated.by != StatedBy::kModel) stated.by = StatedBy::kCall;
  }
  stated.rule.softcap = positiveFact(*facts, "softcap");
  constexpr double kWidest = 1 << 30;
  stated.window = static_cast<std::int64_t>(std::min(kWidest, positiveFact(*facts, "window")));
  return stated;
}

const char* describe(StatedBy by) {
  switch (by) {
    case StatedBy::kCall:
      return "an argument of attention";
    case StatedBy::kModel:
      return "the model";
    case StatedBy::kDefault:
      return "a call of attention without a scale";
    default:
      return "nobody";
  }
}

}  // namespace ringscope::traces
