// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The note of an imported job that holds what the job itself declared (mask, positions, loss,
/// balance). A mask that is not in it was taken from how attention was called.
inline constexpr const char* kDeclaredNote = "declared";

/// The note of an imported job that says how its recorder was asked to record: an object with what
/// the line `options` has (traces/recorder/FORMAT.md), empty in recordings of older recorders,
/// `left_out` (the number of tensors without values, by the reason; null where a rank did not write
/// its last line), and `attention` (ring: computed
/// by PyTorch's ring; annotated: named by the job; whole: neither).
inline constexpr const char* kRecorderNote = "recorder";

/// Before a rank's number: the note of an imported job that says, as a JSON string, what of the
/// memory of this rank is not told apart.
inline constexpr const char* kUnseenMemoryNote = "memory.unseen.";

}  // namespace ringscope::traces
