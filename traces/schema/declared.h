// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The note of an imported job that holds what the job itself declared (mask, positions, loss,
/// balance). A mask that is not in it was taken from how attention was called.
inline constexpr const char* kDeclaredNote = "declared";

/// Before a rank's number: the note of an imported job that says, as a JSON string, what of the
/// memory of this rank is not told apart.
inline constexpr const char* kUnseenMemoryNote = "memory.unseen.";

}  // namespace ringscope::traces
