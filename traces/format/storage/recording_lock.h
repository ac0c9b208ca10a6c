// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// A recorder's lock on the file that it records into. While it is held, no other run and no
/// command replaces the file. Readers are not affected, and the lock ends with its process. On a
/// file system without locks nothing is locked.
class RecordingLock {
 public:
  enum class File { kThere, kNew };
  /// Locks a plain file that exists, or creates an empty one and locks it. Throws inputError when
  /// another process or recorder records into the file.
  RecordingLock(const std::string& path, File file);
  ~RecordingLock();
  RecordingLock(const RecordingLock&) = delete;
  RecordingLock& operator=(const RecordingLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace ringscope::traces
