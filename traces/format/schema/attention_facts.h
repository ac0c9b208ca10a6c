// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The key of the note of an imported PyTorch job that says how the scores of each layer's
/// attention are made. It has an object per layer ("0", "1", …) with the keys `scale`, `scale_by`
/// and `softcap`. A key is missing if it is not recorded. The source of the scale is `call` (an
/// argument of attention), `model` (an attribute of the layer's module) or `default` (a call
/// without a scale).
inline constexpr const char* kAttentionNote = "attention";

}  // namespace ringscope::traces
