// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ringscope::traces {

/// A file that was not there before, for its owner alone; no link is followed. Every function
/// throws inputError that names it.
class NewFile {
 public:
  NewFile() = default;
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&& other) noexcept;

  bool isOpen() const { return descriptor_ >= 0; }
  void write(std::string_view bytes);
  /// Closes it, under another name in the same folder where one is said.
  void close(const std::string& final_path = "");

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace ringscope::traces
