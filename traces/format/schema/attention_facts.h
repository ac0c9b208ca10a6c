// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The key of the note of an imported PyTorch job that says how the scores of each layer's
/// attention are made. It is an object by layer ("0", "1", …) of objects with these keys, each of
/// which is missing where it is not recorded: `scale`; `scale_by`, which is `call` (an argument of
/// attention), `model` (an attribute of the layer's module) or `default` (attention was called
/// without a scale); `softcap`.
inline constexpr const char* kAttentionNote = "attention";

}  // namespace ringscope::traces
