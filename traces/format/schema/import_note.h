// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The key of the note of a recording that was made from the output of another tool, such as a
/// profiler. The note is an object.
/// The key `format` names the tool.
/// The keys `collectives` and `messages` have the numbers that were matched across ranks.
/// The keys `unmatched_collectives` and `unmatched_messages` count calls that lack the matching
/// calls of other ranks.
/// The key `standing` has a list of sentences that say where ranks stood at the end.
/// The key `lacks` has a list of sentences that say what the recording cannot tell, and what
/// would tell it.
inline constexpr const char* kImportNote = "import";

}  // namespace ringscope::traces
