// SPDX-License-Identifier: Apache-2.0
// The names of the buffers of a recorded job, and the size of a recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/place_at.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::kRankFiles;
using test::rank;
using test::RecordingCopy;

/// Adds a third buffer `pos` to both ranks; `line` describes its use.
void addPositions(const RecordingCopy& copy, const std::string& line) {
  for (const char* file : kRankFiles) {
    std::string cut;
    for (const std::string& each : copy.lines(file))
      if (each.find(R"("name":"labels","named_by")") != std::string::npos) cut = each;
    cut.replace(cut.find("labels"), 6, "pos");
    const std::string embedding = R"({"line":"embedding")";
    copy.change(file, embedding, cut + line + embedding);
  }
}

TEST(ImportBuffers, ABufferThatASecondEmbeddingTakesKeepsItsName) {
  const RecordingCopy copy;
  for (const char* file : kRankFiles) {
    std::string renamed;
    for (std::string line : copy.lines(file)) {
      for (const char* of : {R"("name":"input_ids","named_by")", R"("buffer":"input_ids")"})
        if (const auto at = line.find(of); at != std::string::npos)
          line.replace(line.find("input_ids", at), 9, "x");
      renamed += line;
    }
    copy.put(file, renamed);
  }
  addPositions(copy, "");
  for (const char* file : kRankFiles)
    copy.change(file, R"({"line":"loss")",
                R"({"line":"embedding","step":0,"parameter":"wpe.weight","rows":16,"buffer":"pos"})"
                "\n{\"line\":\"loss\"");
  const auto trace = openTrace(copy.path());
  for (const int r : {0, 1}) {
    EXPECT_TRUE(trace->findShard("input_ids", 0, rank(r))) << "which the job calls x";
    ASSERT_TRUE(trace->findShard("pos", 0, rank(r)));
    EXPECT_EQ(trace->findShard("pos", 0, rank(r))->local_shape, (std::vector<std::int64_t>{1, 8}));
  }
}

TEST(ImportBuffers, ABufferThatTheModelGotAsPositionsIsPositionIds) {
  const RecordingCopy copy;
  addPositions(copy, R"({"line":"given","to":"model","name":"pos","buffer":"pos","step":0})"
                     "\n");
  const auto trace = openTrace(copy.path());
  for (const int r : {0, 1}) {
    EXPECT_FALSE(trace->findShard("pos", 0, rank(r)));
    EXPECT_TRUE(trace->findShard("position_ids", 0, rank(r)));
  }
}

TEST(ImportBuffers, DistinguishesTokensAndLabelsInEitherOrder) {
  const RecordingCopy copy;
  const auto before = openTrace(copy.path());
  for (const char* file : kRankFiles) {
    std::vector<std::string> lines = copy.lines(file);
    const auto cut = [&](const char* name) {
      return std::ranges::find_if(lines, [&](const std::string& line) {
        return line.find(std::string("\"name\":\"") + name + "\",\"named_by\"") !=
               std::string::npos;
      });
    };
    const auto tokens = cut("input_ids"), labels = cut("labels");
    ASSERT_TRUE(tokens != lines.end() && labels != lines.end());
    std::swap(*tokens, *labels);
    std::string all;
    for (std::string& line : lines) {
      for (const auto& [of, to] : {std::pair{"\"input_ids\"", "\"x\""}, {"\"labels\"", "\"y\""}})
        if (const auto at = line.find(of); at != std::string::npos)
          line.replace(at, std::string(of).size(), to);
      all += line;
    }
    copy.put(file, all);
  }
  const auto after = openTrace(copy.path());
  for (const int r : {0, 1})
    for (const char* buffer : {"input_ids", "labels"}) {
      const TensorName name{TensorKind::kBuffer, buffer};
      const TensorRecord* was = before->findTensor(name, {0}, rank(r));
      const TensorRecord* is = after->findTensor(name, {0}, rank(r));
      ASSERT_TRUE(was && is) << buffer;
      EXPECT_EQ(is->hash, was->hash) << buffer;
    }
}

/// Returns the sum of the sizes of a folder's files.
std::uint64_t bytesIn(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
  return bytes;
}

TEST(SizeOfRecording, AFolderHasTheSizeOfTheRecordingsFiles) {
  const RecordingCopy copy;
  const std::uint64_t bytes = bytesIn(copy.path());
  ASSERT_GT(bytes, 10'000u);
  EXPECT_EQ(sizeOfRecording(copy.path()), bytes);
  copy.put("notes.txt", std::string(5000, 'x'));
  std::filesystem::create_directory(copy.file("rank-00000.values-more"));
  std::filesystem::create_symlink(copy.file("notes.txt"), copy.file("rank-00002.jsonl"));
  EXPECT_EQ(sizeOfRecording(copy.path()), bytes) << "what is not read is not counted";
}

TEST(SizeOfRecording, AProfiledJobHasTheSizeOfItsProfiles) {
  for (const char* kind : {"kineto", "flight_recorder"}) {
    const std::string folder = test::inSources(std::string("tests/reference/") + kind);
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".json") bytes += entry.file_size();
    EXPECT_EQ(sizeOfRecording(folder), bytes) << kind;
  }
}

TEST(SizeOfRecording, AFileHasItsOwnSizeAndAMissingPathHasZero) {
  const std::string sample = test::sampleRecording();
  EXPECT_EQ(sizeOfRecording(sample), std::filesystem::file_size(sample));
  const test::TempDir empty;
  EXPECT_EQ(sizeOfRecording(empty.file("")), 0u);
  EXPECT_EQ(sizeOfRecording(empty.file("missing.rscope")), 0u);
}

}  // namespace
}  // namespace ringscope::traces
