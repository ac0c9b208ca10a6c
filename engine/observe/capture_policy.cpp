// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/capture_policy.h"

#include <regex>

#include "traces/format/core/error.h"

namespace ringscope::engine {

using traces::TensorKind;

CapturePolicy CapturePolicy::parse(const std::string& text) {
  CapturePolicy policy;
  if (text == "none") return policy;
  policy.stats_ = true;
  if (text == "stats") return policy;
  if (text == "full") {
    policy.all_values_ = true;
    return policy;
  }
  std::smatch match;
  static const std::regex kSteps("values:steps=([0-9]{1,7})(?:-([0-9]{1,7}))?");
  if (!std::regex_match(text, match, kSteps))
    throw usageError("--capture " + text +
                     " is not understood; use none, stats, full or values:steps=A-B");
  policy.first_step_ = std::stoi(match[1]);
  policy.last_step_ = match[2].matched ? std::stoi(match[2]) : policy.first_step_;
  return policy;
}

CapturePolicy::Keep CapturePolicy::keep(const traces::TensorName& tensor,
                                        const traces::Place& place) const {
  if (!stats_) return Keep::kNothing;
  if (all_values_ || tensor.kind == TensorKind::kPositionIds || tensor.kind == TensorKind::kBuffer)
    return Keep::kValues;
  const bool parameter = tensor.kind == TensorKind::kGradient || tensor.kind == TensorKind::kWeight;
  const bool in_steps = place.train_step >= first_step_ && place.train_step <= last_step_;
  return in_steps && !parameter && tensor.kind != TensorKind::kLogits ? Keep::kValues
                                                                      : Keep::kStats;
}

}  // namespace ringscope::engine
