// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/head_parts.h"

namespace ringscope::traces {

/// The factor of one rank's own gradients in the sum, and its standard error.
struct RankFactor {
  WorldRank rank;
  double factor = 1, error = 0;
};

/// The recorded gradient of the output projection, equal on all ranks, compared with the gradient
/// that follows from the recorded logits and labels (head_parts.h). Shares refer to the 2-norm of
/// the larger side.
struct HeadGradient {
  std::string missing;    ///< reason why it is unknown; empty: it is known
  bool recorded = false;  ///< true: no capture would keep more
  std::string parameter;
  std::string open;               ///< reason why it may have other parts too; empty: it has none
  double rounding = 0;            ///< share that rounding explains
  double off = 0;                 ///< share by which the two sides differ
  double factor = 1;              ///< best common factor of all ranks
  double off_scaled = 0;          ///< share that remains with this factor
  std::vector<RankFactor> ranks;  ///< best factor of each rank; empty: unknown
  double off_by_rank = 0;         ///< share that remains with these factors

  /// Reports whether the difference is within rounding and no factors of the ranks explain it
  /// better than rounding does.
  bool isRight() const {
    constexpr double kExplains = 3;  // the rounding of few tokens can resemble a factor
    const bool explained = isMadeSmaller() && kExplains * off_by_rank < off;
    return missing.empty() && off <= rounding && !explained;
  }
  bool isScaled() const { return missing.empty() && off_scaled <= rounding; }
  bool isOfFactors() const { return missing.empty() && !ranks.empty() && off_by_rank <= rounding; }
  /// Returns by how much a rank's factor may deviate.
  double room(const RankFactor& rank) const;
  /// Reports whether no rank's part is too large and some parts are too small, not all by one
  /// factor.
  bool isMadeSmaller() const;
};

/// Returns the training steps in which values of gradients were kept, ascending.
std::vector<std::int32_t> stepsWithGradients(const Trace& trace);
HeadGradient readHeadGradient(const Trace& trace, std::int32_t train_step);
/// Compares the gradients of known parts.
HeadGradient fitHeadGradient(const HeadParts& head);

}  // namespace ringscope::traces
