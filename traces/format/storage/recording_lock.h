// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// A recorder's hold on the file that it records into: while it lasts, no other run and no command
/// takes the file away. Readers are not kept out, and it ends with its process. Where the file
/// system has no locks, nothing is held.
class RecordingLock {
 public:
  enum class File { kThere, kNew };
  /// Of a plain file that is there, or of one that is made here, empty. Throws inputError when
  /// somebody else records into it.
  RecordingLock(const std::string& path, File file);
  ~RecordingLock();
  RecordingLock(const RecordingLock&) = delete;
  RecordingLock& operator=(const RecordingLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace ringscope::traces
