// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// Throws inputError when no trace may be created at a path. The path must not hold something other
/// than a trace, or a trace that is being recorded. No file beside it may be one that SQLite would
/// use. Changes nothing.
void checkTracePath(const std::string& path);

/// Reports whether the path holds an older trace, complete or not.
bool holdsTrace(const std::string& path);

/// Removes an older trace with the files that SQLite left beside it. The caller must hold the
/// file's RecordingLock. Throws inputError as checkTracePath does, or when the file cannot be
/// removed.
void removeTrace(const std::string& path);

/// Removes the files that SQLite left beside an older trace, so that they are not read as part of a
/// new one.
void removeBeside(const std::string& path);

}  // namespace ringscope::traces
