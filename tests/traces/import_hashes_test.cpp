// SPDX-License-Identifier: Apache-2.0
// Hashes that the recorder computed in Python, compared with the values that it kept.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "tests/support/expect_error.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/compare/report.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/hash.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

const std::string kRecording = test::inSources("tests/reference/recording");
constexpr const char* kFirst = "rank-00000.jsonl";

/// A copy that can be changed.
class Copy : public test::RecordingCopy {
 public:
  Copy() : RecordingCopy(kRecording) {}
};

std::string hex(std::uint64_t hash) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

WorldRank rank(int number) {
  return WorldRank::of(number);
}

TEST(ImportHashes, ValuesHaveTheHashThatTheRecorderComputedInPython) {
  const auto trace = openTrace(kRecording);
  int compared = 0;
  for (const TensorRecord& tensor : trace->tensors()) {
    const auto bytes = trace->bytes(tensor);
    if (!bytes) continue;
    EXPECT_EQ(computeHash(tensor.hash_algorithm, bytes->data(), bytes->size()), tensor.hash)
        << describe(tensor);
    if (tensor.hash_algorithm == HashAlgorithm::kGridSum64) ++compared;
  }
  EXPECT_GT(compared, 60);
}

TEST(ImportHashes, ValuesOfAnOlderRecordingAreReadByItsHash) {
  const Copy copy;
  std::string lines = copy.text(kFirst);
  const auto whole = openTrace(kRecording);
  for (const TensorRecord& tensor : whole->tensors()) {
    const auto bytes = whole->bytes(tensor);
    if (!bytes || tensor.rank != rank(0)) continue;
    const std::string is = hex(tensor.hash), was = hex(mixSum64(bytes->data(), bytes->size()));
    for (auto at = lines.find(is); at != std::string::npos; at = lines.find(is))
      lines.replace(at, is.size(), was);
  }
  copy.put(kFirst, lines);
  copy.change(kFirst, R"("hash":"gridsum64","hash_of_parts":"dotsum64",)", "");
  const auto trace = openTrace(copy.path());
  int read = 0;
  for (const TensorRecord& tensor : trace->tensors()) {
    if (tensor.rank == rank(0)) {
      EXPECT_EQ(tensor.hash_algorithm, HashAlgorithm::kMixSum64);
      if (trace->bytes(tensor)) ++read;
    }
  }
  EXPECT_GT(read, 30);
}

TEST(ImportHashes, TensorsSayByWhatTheirHashesWereComputed) {
  const Copy copy;
  copy.change(kFirst, R"("hash":"gridsum64","hash_of_parts":"dotsum64",)", "");
  const auto trace = openTrace(copy.path());
  for (const TensorRecord& tensor : trace->tensors()) {
    const bool computed_here = tensor.tensor.kind == TensorKind::kOther && tensor.shape.size() == 1;
    const bool says = tensor.rank == rank(1) && !computed_here;
    EXPECT_EQ(tensor.hash_algorithm, says ? HashAlgorithm::kGridSum64 : HashAlgorithm::kMixSum64)
        << describe(tensor);
  }
}

TEST(ImportHashes, HashesByWhatIsNotKnownAreRefused) {
  const Copy copy;
  copy.change(kFirst, R"("hash":"gridsum64")", R"("hash":"crc7")");
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput, "hashes by 'crc7'");
}

TEST(ImportHashes, DamagedValuesAreLeftOutOfAComparisonAndReported) {
  const Copy copy;
  copy.damageValues("rank-00001.values-0000.safetensors");
  const auto whole = openTrace(kRecording), damaged = openTrace(copy.path());
  const RunComparison comparison = compareRuns(*damaged, *whole);
  EXPECT_TRUE(std::ranges::any_of(comparison.left_out, [](const std::string& sentence) {
    return sentence.find("are damaged: they are not those") != std::string::npos;
  }));
  EXPECT_EQ(comparison.first(), nullptr) << toText(comparison);
  EXPECT_FALSE(comparison.all.empty());
  EXPECT_TRUE(compareRuns(*whole, *openTrace(kRecording)).left_out.size() <
              comparison.left_out.size());
}

}  // namespace
}  // namespace ringscope::traces
