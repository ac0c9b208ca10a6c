// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "traces/format/core/input_file.h"

namespace ringscope::test {

inline const std::string kRecording = inSources("tests/reference/recording");
inline constexpr std::array kRankFiles{"rank-00000.jsonl", "rank-00001.jsonl"};
inline constexpr const char* kFirstFile = kRankFiles[0];

inline bool anySays(const std::vector<std::string>& sentences, const std::string& words) {
  return std::ranges::any_of(sentences, [&](const std::string& sentence) {
    return sentence.find(words) != std::string::npos;
  });
}

/// Returns a hash as recordings write it.
inline std::string hex(std::uint64_t number) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
  return digits.data();
}

/// A copy of a recorded job's folder that can be damaged.
class RecordingCopy {
 public:
  explicit RecordingCopy(const std::string& recording = kRecording) {
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
