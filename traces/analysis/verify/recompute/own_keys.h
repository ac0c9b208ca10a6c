// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/analysis/verify/recompute/score_fit.h"

namespace ringscope::traces {

/// Scores that only the rows of the first rank agree with.
struct OwnKeysFit {
  LayerTensors layer;  ///< with these scores
  std::string words;   ///< a sentence
};

/// Returns scale and softcap, where they are fitted, as part of a sentence: "the scale 0.25".
std::string describeScores(const ScoreRule& scores, const FittedParts& parts);

/// Fits scale and softcap to the first rows of a sequence, which attend keys of their own rank
/// alone. Returns nullopt when nothing fits them, or when the other rows are attention of other
/// keys with the same scores.
std::optional<OwnKeysFit> fitOwnKeys(const Trace& trace, const LayerTensors& layer,
                                     const Selection& selection, const AttentionMask& mask);

}  // namespace ringscope::traces
