// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::traces {

/// What one rank's own gradients were multiplied with before the sum, and how far that is known.
struct RankFactor {
  WorldRank rank;
  double factor = 1, error = 0;
};

/// The recorded gradient of the output projection against the one that follows from the recorded
/// logits and labels of all ranks. With logits = y·Wᵀ and grad = dlogitsᵀ·y, whatever y is,
///   grad·Wᵀ = Σ over tokens of dlogitsᵀ·logits,  dlogits = (softmax(logits) − label) / targets.
/// Some rows and columns of these matrices are compared. Shares are of the larger side's 2-norm.
struct HeadGradient {
  std::string missing;    ///< why it is not known; empty: it is
  bool recorded = false;  ///< and no capture would keep more
  std::string parameter;
  double rounding = 0;            ///< the share that rounding explains
  double off = 0;                 ///< the share by which the two sides differ
  double factor = 1;              ///< the best one for all ranks alike
  double off_scaled = 0;          ///< what is left with it
  std::vector<RankFactor> ranks;  ///< the best ones of each rank by itself; empty: not known
  double off_by_rank = 0;         ///< what is left with these

  bool isRight() const { return missing.empty() && off <= rounding; }
  bool isScaled() const { return missing.empty() && off_scaled <= rounding; }
  bool isOfFactors() const { return missing.empty() && !ranks.empty() && off_by_rank <= rounding; }
};

/// Training steps in which values of gradients were kept, ascending.
std::vector<std::int32_t> stepsWithGradients(const Trace& trace);
HeadGradient readHeadGradient(const Trace& trace, std::int32_t train_step);

}  // namespace ringscope::traces
