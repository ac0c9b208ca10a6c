// SPDX-License-Identifier: GPL-3.0-or-later
// How rows came together: every strategy, balance and mask, and a merge that is wrong.
#include <gtest/gtest.h>

#include <bit>

#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::viz {
namespace {

using test::forwardAt;
using test::IndexedTrace;
using test::RingRun;

std::vector<WorldRank> everyone() {
  return {WorldRank::of(0), WorldRank::of(1), WorldRank::of(2), WorldRank::of(3)};
}

MergeHistory historyOf(const IndexedTrace& sample, int rank, std::int64_t head, std::int64_t query,
                       const Place& pass = forwardAt(0, 0)) {
  return mergeHistory(*sample.trace, pass, everyone(), WorldRank::of(rank), head, query);
}

IndexedTrace oneLayer(RingRun run) {
  run.layers = 1;
  return IndexedTrace(test::recordedTrace(run));
}

TEST(MergeHistoryTest, TheBlocksOfARowGiveTheRecordedRowUnderEveryStrategyAndMask) {
  for (const auto& [name, run] : test::allKindsOfRuns()) {
    const IndexedTrace sample = oneLayer(run);
    for (int rank = 0; rank < 4; ++rank)
      for (const std::int64_t head : {0, 3})
        for (const std::int64_t query : {0, 9, 17, 31}) {
          const MergeHistory history = historyOf(sample, rank, head, query);
          ASSERT_EQ(history.missing, "") << name;
          EXPECT_LE(history.largest_error_merged, history.rounding)
              << name << ": rank " << rank << ", head " << head << ", query " << query;
          double weights = 0;
          for (const MergeStep& step : history.steps) weights += step.weight;
          EXPECT_NEAR(weights, 1, 1e-9) << name;
          EXPECT_NEAR(history.steps.back().running_lse, history.lse, 1e-9) << name;
        }
  }
}

TEST(MergeHistoryTest, APlainSumIsFarOffWhereSeveralBlocksCameTogether) {
  const MergeHistory history = historyOf(oneLayer({}), 2, 1, 31);
  ASSERT_EQ(history.steps.size(), 4u);
  EXPECT_GT(history.largest_error_naive, 100 * history.rounding);
}

TEST(MergeHistoryTest, OnANaiveSumItIsThePlainSumThatEqualsTheRecording) {
  RingRun run;
  run.naive_sum = true;
  const MergeHistory wrong = historyOf(oneLayer(run), 3, 0, 31);
  EXPECT_LE(wrong.largest_error_naive, wrong.rounding);
  EXPECT_GT(wrong.largest_error_merged, 100 * wrong.rounding);
}

TEST(MergeHistoryTest, ABlockWithoutAKeyForTheRowSaysWhy) {
  const MergeHistory contiguous = historyOf(oneLayer(test::contiguous()), 0, 0, 5);
  EXPECT_TRUE(contiguous.steps[0].attended);
  EXPECT_FALSE(contiguous.steps[1].attended);
  EXPECT_EQ(contiguous.steps[1].words, "all in the future");
  EXPECT_EQ(contiguous.steps[1].source_rank, WorldRank::of(3));
  const MergeHistory head_tail = historyOf(oneLayer({}), 0, 0, 0);
  EXPECT_EQ(head_tail.steps[1].words, "no key of it is for this row")
      << "the block is attended, by the rows of the last chunk";
}

TEST(MergeHistoryTest, WithSharedHeadsItFindsTheRankThatAttendedTheRow) {
  const IndexedTrace sample = oneLayer(test::sharingHeads(2));
  EXPECT_EQ(historyOf(sample, 2, 0, 3).attending, WorldRank::of(2));
  EXPECT_EQ(historyOf(sample, 2, 3, 3).attending, WorldRank::of(3)) << "which has heads 2 and 3";
}

TEST(MergeHistoryTest, AGatherHasAStepForEachBlockThoughAllAreAttendedAtOnce) {
  const MergeHistory history = historyOf(oneLayer(test::gathering()), 3, 0, 31);
  ASSERT_EQ(history.steps.size(), 4u);
  for (const MergeStep& step : history.steps) EXPECT_EQ(step.ring_step, RingStep::of(0));
}

TEST(MergeHistoryTest, ValuesThatWereNotKeptAreSaidWithTheCaptureThatKeepsThem) {
  const IndexedTrace sample = oneLayer({});
  const Place second = test::placeAt(1, 0, traces::Direction::kForward, 0);
  EXPECT_EQ(historyOf(sample, 0, 0, 0, second).missing,
            "Not recorded; --capture values:steps=1 would show it.");
}

/// The out of a row is rounded to bfloat16, as in a model in bfloat16.
TEST(MergeHistoryTest, TheRoundingOfALowPrecisionResultIsNotAnError) {
  const IndexedTrace exact = oneLayer({});
  auto rounded = std::make_shared<traces::Trace>();
  for (const auto& group : exact.trace->groups()) rounded->add(group);
  for (const auto& schedule : exact.trace->schedules()) rounded->add(schedule);
  for (int rank = 0; rank < 4; ++rank)
    for (const traces::Event& event : exact.trace->events(WorldRank::of(rank)))
      rounded->add(std::span<const traces::Event>(&event, 1));
  for (traces::TensorRecord tensor : exact.trace->tensors()) {
    auto bytes = exact.trace->bytes(tensor);
    if (!bytes) continue;
    if (tensor.tensor.kind == traces::TensorKind::kOut) {
      traces::Bytes short_bytes;
      const auto values = exact.trace->values(tensor);
      for (const double value : *values) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
        const std::uint32_t nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
        short_bytes.push_back(static_cast<std::uint8_t>(nearest));
        short_bytes.push_back(static_cast<std::uint8_t>(nearest >> 8));
      }
      bytes = std::move(short_bytes);
      tensor.dtype = traces::DType::kBFloat16;
    }
    rounded->addValues(tensor.id, std::move(*bytes));
    rounded->add(std::vector{tensor});
  }
  const MergeHistory history = historyOf(IndexedTrace(rounded), 2, 1, 31);
  ASSERT_EQ(history.missing, "");
  EXPECT_GT(history.largest_error_merged, 1e-5) << "it was rounded";
  EXPECT_LE(history.largest_error_merged, history.rounding);
}

TEST(MergeSceneTest, BringsTheRowIntoTheTensorAndNamesItsToken) {
  const IndexedTrace sample = oneLayer({});
  const MergeScene scene =
      makeMergeScene(*sample.trace, IndexedTrace::at(forwardAt(0, 2), 1), {9, -1});
  EXPECT_EQ(scene.row, (MergeRow{3, 31}));
  EXPECT_EQ(scene.token, TokenIndex::of(111)) << "the last of chunk 6";
  EXPECT_EQ(scene.now, RingStep::of(2));
  EXPECT_EQ(scene.note, "");
}

}  // namespace
}  // namespace ringscope::viz
