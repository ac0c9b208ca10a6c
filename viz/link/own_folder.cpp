// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/own_folder.h"

#include <QDir>
#include <QLockFile>
#include <QStandardPaths>

namespace ringscope::viz {

OwnFolder::OwnFolder(const QString& base) {
  constexpr int kMost = 100;
  for (int number = 1; number <= kMost; ++number) {
    path_ = number == 1 ? base : base + "-" + QString::number(number);
    QDir().mkpath(path_);
    lock_ = std::make_unique<QLockFile>(path_ + "/window.lock");
    lock_->setStaleLockTime(0);  // as long as its process lives
    if (lock_->tryLock() || lock_->error() != QLockFile::LockFailedError) return;
  }
}

OwnFolder::~OwnFolder() = default;

QString runsFolder() {
  static const OwnFolder kFolder(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) +
                                 "/runs");
  return kFolder.path();
}

}  // namespace ringscope::viz
