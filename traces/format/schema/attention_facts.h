// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The key of the note that says how the scores of each layer's attention are made. A run of
/// RingScope has it only for models whose scores are not scaled by 1/sqrt(head_dim) alone. It has
/// an object per layer ("0", "1", …) with the keys `scale`, `scale_by` and `softcap`. A key is
/// missing if it is not recorded. The source of the scale is `call` (an argument of attention),
/// `model` (an attribute of the layer's module) or `default` (a call without a scale).
inline constexpr const char* kAttentionNote = "attention";

/// The key of the note of a run of RingScope that says how logits follow from the output
/// projection. Its object has the key `softcap`: c of the logits c·tanh(product / c).
inline constexpr const char* kLogitsNote = "logits";

}  // namespace ringscope::traces
