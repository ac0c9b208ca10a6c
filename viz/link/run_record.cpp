// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/run_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QFile>
#include <cerrno>

namespace ringscope::viz {
namespace {

constexpr int kOwnerOnly = 0600, kReadableByAll = 0644;

int openFile(const QString& path, int how, int mode = 0) {
  return ::open(QFile::encodeName(path).constData(), how | O_CLOEXEC, mode);
}

}  // namespace

RunHold::~RunHold() {
  if (fd_ >= 0) ::close(fd_);
}

/// An empty hold when the lock is refused, or the record is gone by then.
RunHold RunRecord::lock(int fd, int how) const {
  if (fd < 0) return {};
  RunHold hold(fd, run_);
  int result = 0;
  do result = ::flock(fd, how);
  while (result != 0 && errno == EINTR);
  struct stat found {};
  const bool locked = result == 0 && ::fstat(fd, &found) == 0 && found.st_nlink > 0;
  return locked ? std::move(hold) : RunHold();
}

RunRecord::Make RunRecord::make(RunHold& hold) const {
  const int fd = openFile(record_, O_RDWR | O_CREAT | O_EXCL, kOwnerOnly);
  if (fd < 0) return errno == EEXIST ? Make::kTaken : Make::kFailed;
  hold = lock(fd, LOCK_SH);
  return hold.path().isEmpty() ? Make::kTaken : Make::kMade;
}

RunHold RunRecord::adopt() const {
  return lock(openFile(record_, O_RDWR | O_CREAT, kOwnerOnly), LOCK_SH);
}

RunHold RunRecord::share() const {
  return lock(openFile(record_, O_RDONLY), LOCK_SH);
}

RunHold RunRecord::seize() const {
  return lock(openFile(record_, O_RDONLY), LOCK_EX | LOCK_NB);
}

void RunRecord::remove() const {
  ::unlink(QFile::encodeName(record_).constData());
}

int makeEmptyFile(const QString& path) {
  const int fd = openFile(path, O_WRONLY | O_CREAT | O_EXCL, kReadableByAll);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

}  // namespace ringscope::viz
