// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"

namespace ringscope::traces {

/// A mask with which the recorded output agrees, and which nothing recorded states.
struct UnstatedMask {
  bool is_prefix = false;               ///< the first tokens attend all of each other
  AttentionMask mask;                   ///< the stated mask if is_prefix
  std::vector<AttentionMask> narrower;  ///< narrower windows with which the output agrees as well
  std::string words;                    ///< a sentence
};

/// Tries masks that recognised attention may have: a sliding window, and a prefix whose tokens
/// attend all of it. `mask` is the stated one, perhaps by document.
std::optional<UnstatedMask> findUnstatedMask(const Trace& trace, const LayerTensors& layer,
                                             const Selection& selection, const AttentionMask& mask);

/// Reports whether the rows of the first `prefix` tokens agree with attention of all their keys.
bool agreesWithPrefix(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                      std::int64_t prefix);

}  // namespace ringscope::traces
