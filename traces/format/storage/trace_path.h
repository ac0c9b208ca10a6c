// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// Refuses a path at which a trace must not be made: something that is not a trace lies there, or a
/// trace that is being recorded, or beside it a file that SQLite would take for its own. Changes
/// nothing. Throws inputError.
void checkTracePath(const std::string& path);

/// True when an older trace lies there, whole or not.
bool holdsTrace(const std::string& path);

/// Removes an older trace with what SQLite left beside it, for whoever holds it (RecordingLock).
/// Throws inputError as checkTracePath does, or when the file stays.
void removeTrace(const std::string& path);

/// Removes what SQLite left beside an older trace, so that it is not taken for a new one's.
void removeBeside(const std::string& path);

}  // namespace ringscope::traces
