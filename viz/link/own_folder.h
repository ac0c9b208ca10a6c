// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <memory>

class QLockFile;

namespace ringscope::viz {

/// A folder that no other window uses while this lives: `base`, or beside it "base-2", "base-3" ….
/// What lies in it is kept for the next window that has it.
class OwnFolder {
 public:
  explicit OwnFolder(const QString& base);
  ~OwnFolder();
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const QString& path() const { return path_; }

 private:
  QString path_;
  std::unique_ptr<QLockFile> lock_;
};

/// Of this window's live runs and jobs: another window's would take the files away that this one
/// shows.
QString runsFolder();

}  // namespace ringscope::viz
