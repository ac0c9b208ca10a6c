// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// The parts of an attention that are fitted to a recorded output.
struct FittedParts {
  bool scale = false, softcap = false, sinks = false;
};

/// Scores and sinks that come closest to the recorded output.
struct ScoreFit {
  ScoreRule scores;
  std::vector<double> sinks;  ///< [heads of the layer]; empty without sinks
};

/// Fits some parts of an attention to the recorded out in some rows of each query head, by least
/// squares. Scale and softcap are the median over heads and ranks. Returns nullopt when no value
/// comes near the output of most heads, or when out is not recorded.
std::optional<ScoreFit> fitScores(const Trace& trace, const LayerTensors& layer,
                                  const Selection& selection, const AttentionMask& mask,
                                  const FittedParts& parts);

}  // namespace ringscope::traces
