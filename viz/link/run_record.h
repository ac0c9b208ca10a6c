// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <utility>

namespace ringscope::viz {

/// A run that is in use by this window: no window removes the run while its hold lives. An empty
/// hold protects nothing.
class RunHold {
 public:
  RunHold() = default;
  ~RunHold();
  RunHold(RunHold&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), path_(std::exchange(other.path_, {})) {}
  RunHold& operator=(RunHold&& other) noexcept {
    std::swap(fd_, other.fd_);
    path_.swap(other.path_);
    return *this;
  }

  /// The run's file or folder; empty for an empty hold.
  const QString& path() const { return path_; }

 private:
  friend class RunRecord;
  RunHold(int fd, QString path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;  // of the run's record, with a lock that the kernel drops with the process
  QString path_;
};

/// The record that marks a run as made by a window, beside which windows lock each other out.
class RunRecord {
 public:
  RunRecord(QString record, QString run) : record_(std::move(record)), run_(std::move(run)) {}

  enum class Make { kMade, kTaken, kFailed };
  /// Makes the record of a new run, which `hold` holds. kTaken: another window has this name.
  /// kFailed: errno says why.
  Make make(RunHold& hold) const;
  /// Makes the record where there is none; an empty hold where that fails.
  RunHold adopt() const;
  /// Holds the run; an empty hold where it has no record.
  RunHold share() const;
  /// Holds the run against all windows; an empty hold while any of them holds it.
  RunHold seize() const;
  void remove() const;

 private:
  RunHold lock(int fd, int how) const;

  QString record_, run_;
};

/// Makes an empty file where there is nothing. Returns 0, or errno's value.
int makeEmptyFile(const QString& path);

}  // namespace ringscope::viz
