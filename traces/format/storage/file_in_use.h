// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "traces/format/core/input_file.h"

namespace ringscope::traces {

/// A mark that a connection of this process may hold SQLite's locks on a file. The kernel drops
/// these locks when the process closes any descriptor of the file, so nobody in the process may
/// query the file's locks meanwhile. Create it before the connection takes a lock, and keep it
/// until the connection is closed.
class FileInUse {
 public:
  explicit FileInUse(const std::string& path);
  /// Returns a mark when a connection of this process, or any other process by its locks, may have
  /// the file open as a database. Changes nothing. When locks cannot be queried, the file counts as
  /// open.
  static std::optional<FileInUse> ifAny(const std::string& path);
  ~FileInUse();
  FileInUse(FileInUse&& other) noexcept;
  FileInUse& operator=(FileInUse&&) = delete;

 private:
  explicit FileInUse(const FileIdentity& file);

  std::optional<FileIdentity> file_;
};

}  // namespace ringscope::traces
