// SPDX-License-Identifier: Apache-2.0
#include "traces/format/storage/recording_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw inputError(path +
                   " is being recorded by another run; choose another name, or wait for its end");
}

}  // namespace

// Does not use the byte ranges that SQLite locks: the kernel drops those locks when this process
// closes any descriptor of the file.
RecordingLock::RecordingLock(const std::string& path, File file) {
  const bool is_new = file == File::kNew;
  fd_ = ::open(path.c_str(), is_new ? O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC : O_RDONLY | O_CLOEXEC,
               0644);
  if (fd_ < 0 && !is_new) return;  // nobody can record into an unreadable file
  if (fd_ < 0 && errno == EEXIST) refuse(path);
  if (fd_ < 0) throw inputError(path + ": " + std::generic_category().message(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(fd_);
  refuse(path);
}

RecordingLock::~RecordingLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ringscope::traces
