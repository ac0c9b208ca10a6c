// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/file_in_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "traces/format/core/mutex.h"

namespace ringscope::traces {
namespace {

/// The files that connections of this process have open, with one entry per connection.
struct OpenFiles {
  Mutex mutex;
  std::vector<FileIdentity> files RINGSCOPE_GUARDED_BY(mutex);
};

OpenFiles& openFiles() {
  static OpenFiles all;
  return all;
}

/// Reports whether another process locks the file. A connection that writes a WAL holds SQLite's
/// lock bytes as long as it is open.
bool othersHoldLocks(const std::string& path) {
  constexpr off_t kFirstLockByte = 0x40000000, kLockBytes = 512;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return false;  // an unreadable file cannot be read as a trace either
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kFirstLockByte;
  lock.l_len = kLockBytes;
  const bool known = ::fcntl(fd, F_GETLK, &lock) == 0;
  ::close(fd);
  return !known || lock.l_type != F_UNLCK;
}

}  // namespace

FileInUse::FileInUse(const FileIdentity& file) : file_(file) {}

FileInUse::FileInUse(const std::string& path) : file_(fileIdentity(path)) {
  OpenFiles& open = openFiles();
  const MutexLock lock(open.mutex);
  open.files.push_back(*file_);
}

std::optional<FileInUse> FileInUse::ifAny(const std::string& path) {
  const FileIdentity file = fileIdentity(path);
  OpenFiles& open = openFiles();
  const MutexLock lock(open.mutex);
  if (std::ranges::find(open.files, file) == open.files.end() && !othersHoldLocks(path))
    return std::nullopt;
  open.files.push_back(file);
  return FileInUse(file);
}

FileInUse::~FileInUse() {
  if (!file_) return;
  OpenFiles& open = openFiles();
  const MutexLock lock(open.mutex);
  if (const auto known = std::ranges::find(open.files, *file_); known != open.files.end())
    open.files.erase(known);
}

FileInUse::FileInUse(FileInUse&& other) noexcept
    : file_(std::exchange(other.file_, std::nullopt)) {}

}  // namespace ringscope::traces
