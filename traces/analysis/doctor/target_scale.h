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
  double sync = 0;        ///< the optimizer gets so many times the sum of all ranks; 0: not known
  bool gathered = false;  ///< every rank's loss has the tokens of all ranks of its cp group
  bool again = false;     ///< kBySync: all gradients so far are summed after each microbatch
  bool may_be_of_tp = false;  ///< the factor is one of a sum over tp ranks, which have equal parts
  std::string evidence;       ///< in numbers
};

TargetScale readTargetScale(const Trace& trace);

/// Returns the answer about losses that every rank computes for all tokens of its cp group.
RuleResult answerAboutGathered(const TargetScale& targets);

/// Returns `otherwise` unless it cannot judge and the weights of targets show such a scale.
RuleResult answerFrom(const TargetScale& targets, TargetsScaled wrong, RuleResult otherwise);

}  // namespace ringscope::traces
