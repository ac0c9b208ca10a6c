// SPDX-License-Identifier: Apache-2.0
#include "traces/format/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::traces {
namespace {

Bytes fileWith(const std::string& header, std::size_t data_bytes) {
  ByteWriter out;
  out.fixed(static_cast<std::uint64_t>(header.size()));
  out.raw(header.data(), header.size());
  Bytes bytes = out.take();
  bytes.resize(bytes.size() + data_bytes);
  return bytes;
}

TEST(SafeTensorsTest, ReadsTheTensorsThatWereWritten) {
  test::TempDir dir;
  const std::vector<float> values = {1, 2, 3, 4};
  const std::size_t bytes = values.size() * sizeof(float);
  writeSafeTensors(
      dir.file("a.safetensors"),
      {{"x", {"F32", {2, 2}, reinterpret_cast<const std::uint8_t*>(values.data()), bytes}}},
      {{"mask", "full"}});
  const auto file = SafeTensorsFile::read(dir.file("a.safetensors"));
  EXPECT_EQ(file.at("x").shape, (std::vector<std::int64_t>{2, 2}));
  std::vector<float> read(values.size());
  std::memcpy(read.data(), file.at("x").data, bytes);
  EXPECT_EQ(read, values);
  EXPECT_EQ(file.metadata().at("mask"), "full");
  EXPECT_ERROR(file.at("y"), ErrorCode::kInput, "no tensor 'y'");
}

TEST(SafeTensorsTest, BrokenHeadersAreOneClearSentence) {
  const std::pair<Bytes, const char*> cases[] = {
      {Bytes(3), "too short"},
      {Bytes(8, 0xFF), "header claims"},
      {fileWith("{", 0), "not valid JSON"},
      {fileWith(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8),
       "outside the file"},
      {fileWith(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
       "does not fit its shape"},
      {fileWith(R"({"x":{"dtype":"Q9","shape":[2],"data_offsets":[0,8]}})", 8), "unknown type"},
      {fileWith(R"({"x":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8), "2.5"},
      {fileWith(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}})", 8),
       "18446744073709551615"},
      {fileWith(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8), "negative"},
      {fileWith(R"({"x":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,8]}})", 8),
       "impossibly large"},
      {fileWith(R"({"x":{"dtype":"F32"}})", 8), "not as the format says"},
      {fileWith(
           R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
           12),
       "overlap"},
  };
  for (const auto& [bytes, words] : cases)
    EXPECT_ERROR(SafeTensorsFile::parse(bytes, "in.safetensors"), ErrorCode::kInput, words);
}

TEST(SafeTensorsFuzzTest, RandomlyDamagedFilesNeverCrash) {
  const Bytes good = fileWith(
      R"({"__metadata__":{"mask":"causal"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      8);
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = good;
    for (int i = 0; i < 3; ++i)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    try {
      SafeTensorsFile::parse(std::move(bytes), "fuzz");
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace ringscope::traces
