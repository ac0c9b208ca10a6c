// SPDX-License-Identifier: Apache-2.0
// Reading parts of files.
#include "traces/format/core/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::traces {
namespace {

class FilePart : public testing::Test {
 protected:
  FilePart() { std::ofstream(path_) << "0123456789"; }
  std::string read(std::uint64_t begin, std::uint64_t size) const {
    const auto bytes = readFilePart(path_, begin, size);
    return {bytes.begin(), bytes.end()};
  }
  test::TempDir dir_;
  const std::string path_ = dir_.file("file");
};

TEST_F(FilePart, HasTheBytesThatWereAskedFor) {
  EXPECT_EQ(read(0, 10), "0123456789");
  EXPECT_EQ(read(3, 4), "3456");
  EXPECT_EQ(read(10, 0), "");
}

TEST_F(FilePart, RejectsAnyRangeBeyondTheEnd) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_ERROR(read(3, 8), ErrorCode::kInput, path_ + ": ends before byte 11");
  EXPECT_ERROR(read(11, 0), ErrorCode::kInput, "ends before");
  EXPECT_ERROR(read(5, kMost), ErrorCode::kInput, "ends before");
  EXPECT_ERROR(read(kMost, 1), ErrorCode::kInput, "ends before");
}

TEST_F(FilePart, RejectsALinkAFolderAndAPipe) {
  namespace fs = std::filesystem;
  fs::create_symlink(path_, dir_.file("link"));
  fs::create_directory(dir_.file("folder"));
  ASSERT_EQ(::mkfifo(dir_.file("pipe").c_str(), 0600), 0);
  for (const char* name : {"link", "folder", "pipe", "missing"})
    EXPECT_ERROR(readFilePart(dir_.file(name), 0, 1), ErrorCode::kInput, dir_.file(name));
}

TEST_F(FilePart, TheRestOfASparseFileTakesNoMemory) {
  std::filesystem::resize_file(path_, std::uint64_t{1} << 40);
  EXPECT_EQ(read(8, 4), std::string("89\0\0", 4));
  EXPECT_ERROR(read(0, std::uint64_t{1} << 40), ErrorCode::kInput, "of memory are free");
}

}  // namespace
}  // namespace ringscope::traces
