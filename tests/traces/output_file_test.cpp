// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::traces {
namespace {

namespace fs = std::filesystem;

using test::readContent;

int filesIn(const test::TempDir& dir) {
  return static_cast<int>(std::distance(fs::directory_iterator(dir.file("")), {}));
}

TEST(OutputFileTest, TheOldFileStaysUntilTheNewOneIsWhole) {
  test::TempDir dir;
  const std::string path = dir.file("out.txt");
  std::ofstream(path) << "old";
  {
    OutputFile file(path);
    file.stream() << "half of the ne";
    EXPECT_EQ(readContent(path), "old");
  }
  EXPECT_EQ(readContent(path), "old");
  EXPECT_EQ(filesIn(dir), 1) << "what was given up is removed";
  OutputFile file(path);
  file.stream() << "new";
  file.finish();
  EXPECT_EQ(readContent(path), "new");
  EXPECT_EQ(filesIn(dir), 1);
}

TEST(OutputFileTest, OtherNamesOfAReplacedFileKeepWhatItWas) {
  test::TempDir dir;
  const std::string path = dir.file("out.txt"), twin = dir.file("twin.txt"),
                    link = dir.file("link.txt");
  std::ofstream(path) << "old";
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_hard_link(path, twin);
  fs::create_symlink(path, link);
  OutputFile file(link);
  file.stream() << "new";
  file.finish();
  EXPECT_EQ(readContent(path), "new") << "links are followed";
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(readContent(twin), "old");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(OutputFileTest, APublishedFileIsFollowedWhileItIsWritten) {
  test::TempDir dir;
  const std::string path = dir.file("log");
  OutputFile file(path);
  EXPECT_FALSE(fs::exists(path));
  file.stream() << "first\n" << std::flush;
  file.publish();
  EXPECT_EQ(readContent(path), "first\n");
  file.stream() << "second\n" << std::flush;
  file.publish();
  EXPECT_EQ(readContent(path), "first\nsecond\n");
}

TEST(OutputFileTest, ADeviceIsWrittenAndNotReplaced) {
  OutputFile file("/dev/null");
  file.stream() << "gone";
  file.finish();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(OutputFileTest, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not here";
  OutputFile file("/dev/full");
  file.stream() << "much";
  EXPECT_ERROR(file.finish(), ErrorCode::kInput, "could not be written in full");
}

TEST(OutputFileTest, FindsAnUnwritablePlaceBeforehand) {
  test::TempDir dir;
  EXPECT_ERROR(checkWritable(dir.file("")), ErrorCode::kInput, "it is a folder");
  EXPECT_ERROR(checkWritable(dir.file("none/out")), ErrorCode::kInput, "there is no folder");
  std::ofstream(dir.file("file")) << "x";
  EXPECT_ERROR(checkWritable(dir.file("file/out")), ErrorCode::kInput, "there is no folder");
  EXPECT_ERROR(checkWritableFolder(dir.file("file/folder")), ErrorCode::kInput, "is not a folder");
  EXPECT_NO_THROW(checkWritableFolder(dir.file("new/folder")));
  EXPECT_NO_THROW(checkWritable("out.txt")) << "in the current folder";
  EXPECT_EQ(filesIn(dir), 1);
}

TEST(OutputFileTest, RecognisesAnInputAsOutputByAnyName) {
  test::TempDir dir;
  const std::string path = dir.file("in.txt");
  std::ofstream(path) << "mine";
  fs::create_symlink(path, dir.file("link"));
  fs::create_symlink(dir.file(""), dir.file("folder"));
  fs::create_hard_link(path, dir.file("twin"));
  const std::string relative = fs::relative(path).string();
  for (const std::string& name : {path, dir.file("./in.txt"), dir.file("link"),
                                  dir.file("folder/in.txt"), dir.file("twin"), relative})
    EXPECT_ERROR(checkOutputs({{"--text", path}}, {{"--log", name}}), ErrorCode::kInput,
                 "--log " + name + " is the same file as --text " + path);
  EXPECT_ERROR(checkOutputs({}, {{"--log", dir.file("new")}, {"--trace", dir.file("./new")}}),
               ErrorCode::kInput, "is the same file as --log");
  EXPECT_NO_THROW(checkOutputs({{"--text", path}, {"--tokens", ""}},
                               {{"--log", dir.file("new")}, {"--trace", ""}}));
  EXPECT_NO_THROW(checkOutputs({}, {{"--log", "/dev/null"}, {"--output", "/dev/null"}}));
  EXPECT_EQ(readContent(path), "mine");
}

}  // namespace
}  // namespace ringscope::traces
