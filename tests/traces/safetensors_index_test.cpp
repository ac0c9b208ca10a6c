// SPDX-License-Identifier: Apache-2.0
// The places of tensors in safetensors files that are whole, truncated or inconsistent.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "traces/format/core/input_file.h"
#include "traces/format/safetensors/index.h"

namespace ringscope::traces {
namespace {

constexpr const char* kTwo = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"I64","shape":[1,3],"data_offsets":[8,32]}})";

/// A file with this header and `data_bytes` bytes of data, which count up.
class File {
 public:
  explicit File(const std::string& header, std::size_t data_bytes = 32)
      : File(header.size(), header, data_bytes) {}
  /// Writes a file that claims another length of its header.
  File(std::uint64_t claimed, const std::string& header, std::size_t data_bytes)
      : path_(dir_.file("x.safetensors")) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &claimed, 8);
    bytes += header;
    for (std::size_t i = 0; i < data_bytes; ++i) bytes += static_cast<char>(i);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  const std::string& path() const { return path_; }
  SafeTensorsIndex index() const { return SafeTensorsIndex::read(path_); }

 private:
  test::TempDir dir_;
  std::string path_;
};

TEST(SafeTensorsIndex, SaysWhereElementsAreInTheFile) {
  const File file(kTwo);
  const auto index = file.index();
  ASSERT_EQ(index.tensors.size(), 2u);
  const SafeTensorPlace& b = index.tensors.at("b");
  EXPECT_EQ(b.dtype, "I64");
  EXPECT_EQ(b.shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(b.size_bytes, 24u);
  EXPECT_EQ(readFilePart(file.path(), b.begin, 1), std::vector<std::uint8_t>{8});
  EXPECT_TRUE(index.cut_off.empty());
}

TEST(SafeTensorsIndex, HasTheCompleteTensorsOfATruncatedFile) {
  const auto index = File(kTwo, 31).index();
  EXPECT_TRUE(index.tensors.contains("a"));
  EXPECT_EQ(index.cut_off, std::set<std::string>{"b"});
  EXPECT_EQ(File(kTwo, 32).index().cut_off.size(), 0u);
  EXPECT_EQ(File(kTwo, 7).index().cut_off.size(), 2u);
}

TEST(SafeTensorsIndex, AHeaderOfAbsurdSizeIsRefusedBeforeItIsRead) {
  for (const std::uint64_t claimed :
       {std::uint64_t{1000}, std::uint64_t{1} << 40, ~std::uint64_t{0}})
    EXPECT_ERROR(File(claimed, kTwo, 32).index(), ErrorCode::kInput, "header claims");
  EXPECT_ERROR(File(20, kTwo, 32).index(), ErrorCode::kInput, "is not valid JSON");
}

TEST(SafeTensorsIndex, LyingOffsetsAreRefused) {
  const auto a = [](const std::string& fields) { return File("{\"a\":{" + fields + "}}").index(); };
  const std::string typed = R"("dtype":"F32","shape":[2],)";
  EXPECT_ERROR(a(typed + R"("data_offsets":[0,12])"), ErrorCode::kInput, "does not fit its shape");
  EXPECT_ERROR(a(typed + R"("data_offsets":[8,0])"), ErrorCode::kInput, "outside the file");
  EXPECT_ERROR(a(typed + R"("data_offsets":[-8,0])"), ErrorCode::kInput, "outside the file");
  EXPECT_ERROR(a(typed + R"("data_offsets":[0])"), ErrorCode::kInput, "not as the format says");
  EXPECT_ERROR(a(R"("dtype":"F32","shape":[1e3],"data_offsets":[0,4000])"), ErrorCode::kInput,
               "is no extent");
  EXPECT_EQ(a(typed + R"("data_offsets":[9223372036854775799,9223372036854775807])").cut_off.size(),
            1u);
  std::string overlapping = kTwo;
  overlapping.replace(overlapping.find("[8,32]"), 6, "[4,28]");
  EXPECT_ERROR(File(overlapping).index(), ErrorCode::kInput, "two tensors overlap");
}

TEST(SafeTensorsIndex, AFileThatIsTooShortOrMissingIsNamed) {
  const test::TempDir dir;
  EXPECT_ERROR(SafeTensorsIndex::read(dir.file("none")), ErrorCode::kInput, dir.file("none"));
  std::ofstream(dir.file("short")) << "1234567";
  EXPECT_ERROR(SafeTensorsIndex::read(dir.file("short")), ErrorCode::kInput, "too short");
}

}  // namespace
}  // namespace ringscope::traces
