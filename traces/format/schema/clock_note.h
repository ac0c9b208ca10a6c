// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// The key of the note in which a recorder describes its clock, for joining files.
inline constexpr const char* kClockNote = "clock";

}  // namespace ringscope::traces
