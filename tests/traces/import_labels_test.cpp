// SPDX-License-Identifier: Apache-2.0
// Labels and logits of recorded jobs whose loss leaves out the last row of each sequence.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/places.h"
#include "tests/support/recording_copy.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/import/recording/labels.h"
#include "traces/format/core/hash.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

TEST(ImportLabels, LabelsOfALossWithoutLastRowsEndInAnIgnoredLabel) {
  const std::vector<std::int64_t> targets{5, 6, 8, 9};
  Bytes bytes(sizeof(std::int64_t) * targets.size());
  std::memcpy(bytes.data(), targets.data(), bytes.size());
  TensorRecord labels;
  labels.shape = {2, 3};
  const Bytes made = labelsWithoutLast(labels, bytes, -100);
  std::vector<std::int64_t> values(6);
  ASSERT_EQ(made.size(), sizeof(std::int64_t) * values.size());
  std::memcpy(values.data(), made.data(), made.size());
  EXPECT_EQ(values, (std::vector<std::int64_t>{5, 6, -100, 8, 9, -100}));
  EXPECT_EQ(labels.hash, mixSum64(made.data(), made.size()));
  EXPECT_EQ(labels.stats.min, -100);
  EXPECT_EQ(labels.stats.max, 9);
}

TEST(ImportLabels, LogitsOfFewerTokensThanTheRankOwnsAreNotTaken) {
  const test::RecordingCopy copy;
  constexpr const char* kFirst = "rank-00000.jsonl";
  copy.change(kFirst, R"("what":"logits")", R"("what":"logits","of":"a test")");
  const std::string all = copy.text(kFirst);
  const auto at = all.find(R"("shape":[)", all.find(R"("of":"a test")"));
  ASSERT_EQ(all.substr(at, 13), R"("shape":[8,64)");
  copy.put(kFirst, std::string(all).replace(at, 13, R"("shape":[7,64)"));
  const auto trace = openTrace(copy.path());
  EXPECT_FALSE(trace->findTensor({TensorKind::kLogits}, {0}, WorldRank::of(0)));
  EXPECT_TRUE(trace->findTensor({TensorKind::kLogits}, {0}, WorldRank::of(1)));
}

}  // namespace
}  // namespace ringscope::traces
