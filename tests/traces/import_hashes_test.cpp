// SPDX-License-Identifier: Apache-2.0
// Hashes that the recorder computed in Python, compared with the values that it kept.
#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/place_at.h"
#include "tests/support/recording_copy.h"
#include "traces/analysis/compare/report.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/hash.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::hex;
using test::kFirstFile;
using test::kRecording;
using test::rank;
using test::RecordingCopy;

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
  const RecordingCopy copy;
  std::string lines = copy.text(kFirstFile);
  const auto whole = openTrace(kRecording);
  for (const TensorRecord& tensor : whole->tensors()) {
    const auto bytes = whole->bytes(tensor);
    if (!bytes || tensor.rank != rank(0)) continue;
    const std::string is = hex(tensor.hash), was = hex(mixSum64(bytes->data(), bytes->size()));
    for (auto at = lines.find(is); at != std::string::npos; at = lines.find(is))
      lines.replace(at, is.size(), was);
  }
  copy.put(kFirstFile, lines);
  copy.change(kFirstFile, R"("hash":"gridsum64","hash_of_parts":"dotsum64",)", "");
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
  const RecordingCopy copy;
  copy.change(kFirstFile, R"("hash":"gridsum64","hash_of_parts":"dotsum64",)", "");
  const auto trace = openTrace(copy.path());
  for (const TensorRecord& tensor : trace->tensors()) {
    const bool computed_here = tensor.tensor.kind == TensorKind::kOther && tensor.shape.size() == 1;
    const bool says = tensor.rank == rank(1) && !computed_here;
    EXPECT_EQ(tensor.hash_algorithm, says ? HashAlgorithm::kGridSum64 : HashAlgorithm::kMixSum64)
        << describe(tensor);
  }
}

TEST(ImportHashes, HashesByWhatIsNotKnownAreRefused) {
  const RecordingCopy copy;
  copy.change(kFirstFile, R"("hash":"gridsum64")", R"("hash":"crc7")");
  EXPECT_ERROR(openTrace(copy.path()), ErrorCode::kInput, "hashes by 'crc7'");
}

TEST(ImportHashes, DamagedValuesAreLeftOutOfAComparisonAndReported) {
  const RecordingCopy copy;
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
