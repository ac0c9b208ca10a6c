// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>

#include "traces/format/core/mutex.h"

namespace ringscope::traces {
class Trace;
}

namespace ringscope::viz {

/// A recording in a file or a folder, whose trace is opened once. Thread-safe.
class RecordedFile {
 public:
  explicit RecordedFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Returns the trace, and opens it at the first call. Other threads wait meanwhile. Throws
  /// inputError each time when the recording cannot be opened.
  std::shared_ptr<const traces::Trace> trace() RINGSCOPE_EXCLUDES(mutex_);

 private:
  const std::string path_;
  traces::Mutex mutex_;
  std::shared_ptr<const traces::Trace> trace_ RINGSCOPE_GUARDED_BY(mutex_);
};

}  // namespace ringscope::viz
