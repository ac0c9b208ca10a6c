// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The note of a recording that was made of what another tool wrote, such as a profiler: an object
/// with `format` (which tool), `collectives` and `messages` (those that were matched over ranks),
/// `unmatched_collectives` and `unmatched_messages` (calls of ranks without the others), `standing`
/// (a list of sentences: where ranks stood at its end), `lacks` (another: what it cannot tell, and
/// what would).
inline constexpr const char* kImportNote = "import";

}  // namespace ringscope::traces
