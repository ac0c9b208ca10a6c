// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The relation of what one target weighs in a training step to 1 / targets of all ranks, from the
/// gradients of the logits and of the output projection. No logged loss is needed.
enum class TargetsScaled {
  kUnknown,
  kRight,
  kByLoss,  ///< all by cp or 1 / cp, in the gradient that begins at the loss
  kBySync,  ///< all by a number of ranks or its inverse, between there and the optimizer
};
struct TargetScale {
  TargetsScaled are = TargetsScaled::kUnknown;
  std::int32_t train_step = 0;
  double scale = 1;
  std::string evidence;  ///< in numbers
};

TargetScale readTargetScale(const Trace& trace);

/// Returns `otherwise` unless it cannot judge and the weights of targets show such a scale.
RuleResult answerFrom(const TargetScale& targets, TargetsScaled wrong, RuleResult otherwise);

}  // namespace ringscope::traces
