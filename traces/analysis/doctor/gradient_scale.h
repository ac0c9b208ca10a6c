// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/head_gradient.h"

namespace ringscope::traces {

/// The relation of the gradients after the sync to those of the loss over all targets.
enum class GradientsAre {
  kUnknown,
  kRight,
  kScaledByCp,    ///< times cp, or divided by it, all of them
  kScaledByRank,  ///< the sum of what ranks made smaller before, each by a factor of its own
};

/// The scale in the first training step whose gradients are wrong.
struct GradientScale {
  GradientsAre are = GradientsAre::kUnknown;
  std::string missing;    ///< kUnknown: what would settle it
  bool recorded = false;  ///< and no capture would keep more
  bool wrong = false;     ///< kUnknown: they are not right, and none of these either
  std::int32_t train_step = 0;
  double scale = 1;       ///< kScaledByCp: cp or 1 / cp
  HeadGradient head;      ///< where it was computed from logits and labels
  int verdicts = 0;       ///< of gradients, where recorded verdicts say it instead
  double norm = 0;        ///< then: as it was logged
  double right_norm = 0;  ///< and as unsharded training has it
};

/// By the gradient of the output projection where it was recorded with logits and labels, else by
/// the recorded verdicts on all gradients.
GradientScale readGradientScale(const Trace& trace);

/// Returns a rule's answer: a finding when the gradients are `wrong`. `finish` adds confidence,
/// title, evidence and remedy.
RuleResult answerFrom(const GradientScale& gradients, GradientsAre wrong,
                      void (*finish)(const GradientScale& gradients, Finding& finding));

}  // namespace ringscope::traces
