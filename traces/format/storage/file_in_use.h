// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/format/core/input_file.h"

namespace ringscope::traces {

/// That a connection of this process may hold SQLite's locks on a file. The kernel drops those
/// locks with any descriptor of the file that the process closes, so nobody may look at the file's
/// locks meanwhile. Made before the connection takes a lock, and kept until it is closed.
class FileInUse {
 public:
  explicit FileInUse(const std::string& path);
  /// Where somebody has the file open as a database: a connection of this process, or any other
  /// process, by the locks that it holds. Nothing is changed by asking. Where locks cannot be asked
  /// for, somebody may.
  static std::optional<FileInUse> ifAny(const std::string& path);
  ~FileInUse();
  FileInUse(FileInUse&& other) noexcept;
  FileInUse& operator=(FileInUse&&) = delete;

 private:
  explicit FileInUse(const FileIdentity& file);

  std::optional<FileIdentity> file_;
};

}  // namespace ringscope::traces
