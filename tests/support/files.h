// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/places.h"

namespace ringscope::test {

/// A folder that is removed at the end of the test.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ringscope-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Returns the path of a file of tests/reference.
inline std::string reference(const std::string& name) {
  return test::inSources("tests/reference/") + name;
}
inline std::string sampleText() {
  return test::inSources("resources/sample/text.txt");
}
inline std::string sampleRecording() {
  return test::inSources("resources/sample/missing_position_ids.rscope");
}

inline std::string readContent(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace ringscope::test
