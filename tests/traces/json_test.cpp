// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/json.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tests/support/any_records.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/utf8.h"
#include "traces/format/safetensors/safetensors.h"
#include "traces/format/stream/frame.h"

namespace ringscope::traces {
namespace {

std::string nested(int levels, const std::string& open = "[", const std::string& close = "]") {
  std::string text;
  for (int i = 0; i < levels; ++i) text += open;
  text += "1";
  for (int i = 0; i < levels; ++i) text += close;
  return text;
}

TEST(JsonTest, DeepNestingIsRefusedBeforeAnythingRecursesIntoIt) {
  EXPECT_EQ(parseJson(nested(kMaxJsonDepth), "a note").size(), 1u);
  EXPECT_ERROR(parseJson(nested(kMaxJsonDepth + 1), "a note"), ErrorCode::kInput,
               "a note: is nested more than 64 levels deep");
  EXPECT_ERROR(parseJson(nested(200'000), "x"), ErrorCode::kInput, "levels deep");
  EXPECT_ERROR(parseJson(nested(200'000, "{\"a\":", "}"), "x"), ErrorCode::kInput, "levels deep");
}

TEST(JsonTest, BracketsInStringsAreNoNesting) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(parseJson("\"" + brackets + "\\\"[[\"", "x").get<std::string>().size(), 1003u);
  EXPECT_ERROR(parseJson("\"\\", "x"), ErrorCode::kInput, "x: is not valid JSON");
}

TEST(JsonTest, NamesTheTextThatIsNoJson) {
  for (const char* text : {"", "{", "nul", "[1,]", "\xff", "{\"a\": \"\xc3\x28\"}", "1 2"})
    EXPECT_ERROR(parseJson(text, "config.json"), ErrorCode::kInput,
                 "config.json: is not valid JSON");
}

TEST(JsonTest, EveryReaderOfJsonHasTheLimit) {
  const std::string deep = nested(200'000);
  test::AnyRecords builder;
  EXPECT_ERROR(builder.note("step.0", deep), ErrorCode::kInput, "levels deep");
  EXPECT_TRUE(builder.trace().note("step.0").is_null());
  EXPECT_ERROR(parseFrameJson({FrameType::kJson, Bytes(deep.begin(), deep.end())}),
               ErrorCode::kInput, "levels deep");
  std::string file(8, '\0');
  const std::uint64_t size = deep.size();
  std::memcpy(file.data(), &size, 8);
  file += deep;
  EXPECT_ERROR(SafeTensorsFile::parse(Bytes(file.begin(), file.end()), "x"), ErrorCode::kInput,
               "levels deep");
}

TEST(Utf8Test, OnlyWhatTheStandardAllowsPasses) {
  for (const char* text : {"", "plain", "\u00e9", "\u20ac", "\U0001F600", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(isUtf8(text)) << text;
  for (const char* text : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xff",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82", "a\xe2(\xac"})
    EXPECT_FALSE(isUtf8(text)) << text;
}

TEST(Utf8Test, APathOfAnyBytesCanBeShown) {
  EXPECT_EQ(toUtf8("caf\xe9/\u00e9"), "caf\uFFFD/\u00e9");
  EXPECT_EQ(toUtf8("\xf0\x9f\x98"), "\uFFFD\uFFFD\uFFFD");
  test::AnyRecords builder;
  RunSpec run;
  run.text = {"\xff"};
  builder.trace().add(run);
  EXPECT_NO_THROW(toJson(*builder.trace().run()).dump());
}

TEST(InputFileTest, AFileIsReadWholeOrRefusedWithASentence) {
  test::TempDir dir;
  std::ofstream(dir.file("a")) << "four";
  EXPECT_EQ(readFile(dir.file("a")), "four");
  EXPECT_EQ(readFileBytes(dir.file("a")).size(), 4u);
  EXPECT_ERROR(readFile(dir.file("a"), 3), ErrorCode::kInput, "has 4 bytes; 3 are the most");
  EXPECT_ERROR(readFile(dir.file("none")), ErrorCode::kInput, "no such file");
  EXPECT_ERROR(readFile(dir.file("")), ErrorCode::kInput, "is not a plain file");
  ASSERT_EQ(::mkfifo(dir.file("pipe").c_str(), 0600), 0);
  EXPECT_ERROR(readFile(dir.file("pipe")), ErrorCode::kInput, "is not a plain file");
}

TEST(InputFileTest, AFileThatClaimsMoreThanTheMemoryHasIsRefusedUnread) {
  test::TempDir dir;
  const std::string path = dir.file("sparse");
  std::ofstream(path) << "x";
  std::error_code refused;
  std::filesystem::resize_file(path, std::uintmax_t{1} << 42, refused);
  if (refused) GTEST_SKIP() << "this file system has no sparse files of 4 TiB";
  EXPECT_ERROR(readFile(path), ErrorCode::kInput, "of memory are free");
  EXPECT_ERROR(SafeTensorsFile::read(path), ErrorCode::kInput, "of memory are free");
}

}  // namespace
}  // namespace ringscope::traces
