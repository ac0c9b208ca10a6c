// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The note of an imported job that holds what the job itself declared (mask, positions, loss,
/// balance). A mask that is not in it was taken from how attention was called.
inline constexpr const char* kDeclaredNote = "declared";

}  // namespace ringscope::traces
