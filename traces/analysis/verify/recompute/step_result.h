// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/analysis/verify/recompute/label_check.h"
#include "traces/analysis/verify/recompute/scalar_check.h"

namespace ringscope::traces {

/// The checks of labels, loss, gradients after the sync and their norm of one training step. A
/// wrong result has hypotheses: what each mistake would have made of it.
struct StepCheck {
  std::int32_t train_step = 0;
  LabelCheck labels;
  ScalarCheck loss;
  GradientCheck gradient;
  ScalarCheck grad_norm;

  bool right() const {
    return !labels.isWrong() && !loss.isWrong() && !gradient.isWrong() && !grad_norm.isWrong();
  }
  /// Reports whether a number is not the recomputed one, which need not be wrong.
  bool differs() const {
    return labels.isWrong() || loss.differs() || gradient.differs() || grad_norm.differs();
  }
  /// Returns how many of the four were compared.
  int compared() const {
    return labels.skipped.empty() + loss.ratio().has_value() + gradient.ratio().has_value() +
           grad_norm.ratio().has_value();
  }
};

}  // namespace ringscope::traces
