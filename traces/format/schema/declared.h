// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The key of the note of an imported job that holds what the job itself declared (mask, positions,
/// loss, balance). A mask that is missing there was derived from the call of attention.
inline constexpr const char* kDeclaredNote = "declared";

/// The key of the note of an imported job that says how its recorder was configured. It is an
/// object with the content of the line `options` (traces/recorder/FORMAT.md), which is empty in
/// recordings of older recorders. Two more keys follow. The key `left_out` has the number of
/// tensors without values, by reason; null if a rank did not write its last line. The key
/// `attention` says how attention was seen: `ring` (computed by PyTorch's ring), `annotated` (named
/// by the job), `recognised` (computed by the job without annotations) or `whole` (neither).
inline constexpr const char* kRecorderNote = "recorder";

/// The prefix of the key of a note; a rank's number follows. The note of an imported job says, as a
/// JSON string, which memory of this rank could not be divided into categories.
inline constexpr const char* kUnseenMemoryNote = "memory.unseen.";

}  // namespace ringscope::traces
