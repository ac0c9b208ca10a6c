// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "traces/format/core/input_file.h"

namespace ringscope::test {

/// A copy of a recorded job's folder that can be damaged.
class RecordingCopy {
 public:
  explicit RecordingCopy(const std::string& recording) {
    std::filesystem::create_directory(path());
    for (const auto& entry : std::filesystem::directory_iterator(recording))
      std::filesystem::copy_file(entry.path(), file(entry.path().filename().string()));
  }
  std::string path() const { return dir_.file("recording"); }
  std::string file(const std::string& name) const { return path() + "/" + name; }
  std::string text(const std::string& name) const { return traces::readFile(file(name)); }
  /// Returns the lines of a file with their line ends.
  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> lines;
    const std::string all = text(name);
    for (std::size_t begin = 0, end; (end = all.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      lines.push_back(all.substr(begin, end + 1 - begin));
    return lines;
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }
  /// Changes all values of a safetensors file, so that they no longer match the recorded hashes.
  void damageValues(const std::string& name) const {
    std::string all = text(name);
    std::size_t at = 8;
    for (std::size_t byte = 0; byte < 8; ++byte)
      at += std::size_t{static_cast<unsigned char>(all[byte])} << 8 * byte;
    for (; at < all.size(); ++at) all[at] = static_cast<char>(all[at] ^ 1);
    put(name, all);
  }
  /// Removes all lines of this kind.
  void drop(const std::string& kind) const {
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".jsonl") continue;
      std::string kept;
      for (const std::string& line : lines(name))
        if (!line.starts_with("{\"line\":\"" + kind + "\"")) kept += line;
      put(name, kept);
    }
  }
  /// Replaces the first `from` of a file by `to`.
  void change(const std::string& name, const std::string& from, const std::string& to) const {
    std::string all = text(name);
    const auto at = all.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    put(name, all.replace(at, from.size(), to));
  }

 private:
  TempDir dir_;
};

}  // namespace ringscope::test
