// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/head_parts.h"

namespace ringscope::traces {

/// What one rank's own gradients were multiplied with before the sum, and how far that is known.
struct RankFactor {
  WorldRank rank;
  double factor = 1, error = 0;
};

/// The recorded gradient of the output projection, that all ranks have alike, against the one that
/// follows from the recorded logits and labels (head_parts.h). Shares are of the larger side's
/// 2-norm.
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

  /// Within rounding, and no factors of the ranks explain what is left better than rounding does.
  bool isRight() const {
    constexpr double kExplains = 3;  // rounding of few tokens looks like a factor in part
    const bool explained = isMadeSmaller() && kExplains * off_by_rank < off;
    return missing.empty() && off <= rounding && !explained;
  }
  bool isScaled() const { return missing.empty() && off_scaled <= rounding; }
  bool isOfFactors() const { return missing.empty() && !ranks.empty() && off_by_rank <= rounding; }
  /// By how much a rank's factor may be another one.
  double room(const RankFactor& rank) const;
  /// No rank's part is larger than it should be, some are smaller, and not all by one factor.
  bool isMadeSmaller() const;
};

/// Training steps in which values of gradients were kept, ascending.
std::vector<std::int32_t> stepsWithGradients(const Trace& trace);
HeadGradient readHeadGradient(const Trace& trace, std::int32_t train_step);
/// The same of parts that are known.
HeadGradient fitHeadGradient(const HeadParts& head);

}  // namespace ringscope::traces
