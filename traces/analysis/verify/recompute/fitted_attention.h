// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/analysis/verify/recompute/dropped_part.h"
#include "traces/analysis/verify/recompute/stated_scores.h"

namespace ringscope::traces {

/// The answer of a layer's recorded output about its attention, if it is not the stated one.
enum class AttentionFits {
  kStated,     ///< nothing else is known
  kOther,      ///< another attention, and nothing that is recorded rules it out
  kUnmeant,    ///< another attention, which a statement rules out
  kDocuments,  ///< as stated, across the borders of documents that the positions show
  kNothing,    ///< no attention that was tried, and nothing shows what was meant
};

/// The attention with which the recorded output of a layer agrees, and how that is known.
struct FittedAttention {
  AttentionFits is = AttentionFits::kStated;
  LayerTensors layer;  ///< with the scores and sinks that were inferred
  AttentionMask mask;
  std::vector<AttentionMask> other_masks;    ///< masks with which the output agrees as well
  std::string words;                         ///< a sentence; empty for kStated
  DroppedPart dropped = DroppedPart::kNone;  ///< the meant part that is missing, for kUnmeant
};

/// Finds the attention with which recorded out agrees in all rows of a selection. It tries the
/// stated mask and scale first. Then it tries another scale, sinks, a softcap, the documents that
/// recorded positions show, and other masks. `stated` compares the recording with the stated
/// attention.
FittedAttention fitAttention(const Trace& trace, const LayerTensors& layer,
                             const Selection& selection, const AttentionMask& mask,
                             const std::vector<TensorCheck>& stated);

}  // namespace ringscope::traces
