// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ringscope::traces {

/// A new file that only its owner can access. It must not exist before, and links are not followed.
/// Every function throws inputError that names the file.
class NewFile {
 public:
  NewFile() = default;
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) noexcept;

  bool isOpen() const { return descriptor_ >= 0; }
  void write(std::string_view bytes);
  /// Closes the file. If `final_path` is not empty, renames it to this path in the same folder.
  void close(const std::string& final_path = "");

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace ringscope::traces
