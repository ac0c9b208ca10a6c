// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/comparison.h"

namespace ringscope::traces {

/// A part of the meant attention that the recorded output of a layer shows to be missing.
enum class DroppedPart {
  kNone,
  kScale,    ///< scores have another scale than is stated
  kSoftcap,  ///< scores are not capped
  kSinks,    ///< the layer's sinks take no part in any softmax
  kOneSink,  ///< sinks take part once per block of keys, and not once per row
  kEmpty,    ///< blocks without a key for a row have a log-sum-exp of 0 instead of −∞
  kHeads,    ///< sinks are not those of the rank's heads
  kWindow,   ///< keys before the stated window are attended
};

/// The missing part, and the attention with which the recorded output agrees: "the scale 1 / √d,
/// which is 0.3536; an attribute of the layer's module states the scale 0.5".
struct DroppedAttention {
  DroppedPart part = DroppedPart::kNone;
  std::string words;
};

/// Finds the part of the stated attention without which recorded out agrees in all rows of a
/// selection. Tries one value per part: the default that takes its place.
std::optional<DroppedAttention> findDropped(const Trace& trace, const LayerTensors& layer,
                                            const Selection& selection, const AttentionMask& mask);

/// Compares recorded out with the attention of a layer's scores and sinks under a mask.
TensorCheck comparedOut(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                        const AttentionMask& mask);

}  // namespace ringscope::traces
