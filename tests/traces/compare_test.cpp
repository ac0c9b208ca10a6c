// SPDX-License-Identifier: Apache-2.0
// Two recordings compared by logical place: a row is compared with the same row, whatever rank had
// it.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "traces/analysis/compare/report.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

/// Returns one layer of four tokens on one rank. `out` has the values of tokens 0 to 3.
std::string onOneRank(const std::string& out) {
  return "run cp=1 seq_len=4\ngroup cp 0\nshard q rank=0 dim=2 tokens=0-4\n"
         "tensor q rank=0 layer=0 shape=1x1x4x1 values=1,2,3,4\n"
         "tensor k rank=0 layer=0 shape=1x1x4x1 values=1,1,1,1\n"
         "tensor v rank=0 layer=0 shape=1x1x4x1 values=5,6,7,8\n"
         "tensor out rank=0 layer=0 shape=1x1x4x1 values=" +
         out + "\n";
}
/// Returns the same layer on two ranks, with head and tail of the sequence on the first.
std::string onTwoRanks(const std::string& out_0, const std::string& out_1) {
  return "run cp=2 seq_len=4\ngroup cp 0,1\n"
         "shard q rank=0 dim=2 tokens=0-1,3-4\nshard q rank=1 dim=2 tokens=1-3\n"
         "tensor q rank=0 layer=0 shape=1x1x2x1 values=1,4\n"
         "tensor q rank=1 layer=0 shape=1x1x2x1 values=2,3\n"
         "tensor k rank=0 layer=0 shape=1x1x2x1 values=1,1\n"
         "tensor k rank=1 layer=0 shape=1x1x2x1 values=1,1\n"
         "tensor v rank=0 layer=0 shape=1x1x2x1 values=5,8\n"
         "tensor v rank=1 layer=0 shape=1x1x2x1 values=6,7\n"
         "tensor out rank=0 layer=0 shape=1x1x2x1 values=" +
         out_0 + "\ntensor out rank=1 layer=0 shape=1x1x2x1 values=" + out_1 + "\n";
}

RunComparison compared(const std::string& run, const std::string& other) {
  return compareRuns(*makeTrace(run), *makeTrace(other));
}

TEST(CompareRunsTest, TheSameRowsOnOtherRanksAreTheSame) {
  const auto same = compared(onOneRank("1,2,3,4"), onTwoRanks("1,4", "2,3"));
  EXPECT_EQ(same.first(), nullptr) << toText(same);
  EXPECT_EQ(same.all.size(), 4u);
  EXPECT_NE(toText(same).find("cp: 1 against 2"), std::string::npos) << toText(same);
}

TEST(CompareRunsTest, ADifferentRowIsNamedWithWhoHadIt) {
  const auto other = compared(onOneRank("1,2,3,4"), onTwoRanks("1,4", "2,3.5"));
  ASSERT_NE(other.first(), nullptr);
  const TensorDifference& out = *other.first();
  EXPECT_EQ(out.tensor, "out");
  EXPECT_EQ(out.differing, 1);
  EXPECT_EQ(out.rows, 4);
  EXPECT_EQ(out.at, (RowPlace{0, 0, 2}));
  EXPECT_EQ(out.rank, WorldRank::of(0));
  EXPECT_EQ(out.other, WorldRank::of(1));
  EXPECT_NEAR(out.worst, 0.5 / std::sqrt((1 + 4 + 12.25 + 16) / 4), 1e-6);
  EXPECT_EQ(other.steepest(), other.first());
}

TEST(CompareRunsTest, TheFloorIsTheDifferenceOfEqualRuns) {
  const auto run = makeTrace(onOneRank("1,2,3.1,4")), other = makeTrace(onOneRank("1,2,3,4")),
             again = makeTrace(onOneRank("1,2,3.2,4"));
  EXPECT_NE(compareRuns(*run, *other).first(), nullptr);
  EXPECT_EQ(compareRuns(*run, *other, again.get()).first(), nullptr);
  EXPECT_NE(compareRuns(*again, *other, run.get()).first(), nullptr);
  EXPECT_EQ(compareRuns(*run, *other, run.get()).first(), nullptr) << "no more than itself";
  EXPECT_NE(toText(compareRuns(*run, *other)).find("--floor RUN3"), std::string::npos);
}

TEST(CompareRunsTest, ANumberThatOneRunLacksIsInfinitelyFarFromIt) {
  const auto nan = compared(onOneRank("1,2,nan,4"), onOneRank("1,2,3,4"));
  ASSERT_NE(nan.first(), nullptr);
  EXPECT_TRUE(std::isinf(nan.first()->worst));
  EXPECT_EQ(compared(onOneRank("1,2,nan,4"), onOneRank("1,2,nan,4")).first(), nullptr);
}

TEST(CompareRunsTest, SequencesOfDpRanksAreThoseOfTheWholeBatch) {
  const auto ids = [](int rank, const std::string& values, const std::string& shape) {
    return "shard input_ids rank=" + std::to_string(rank) +
           " tokens=0-2\ntensor buffer.input_ids rank=" + std::to_string(rank) + " shape=" + shape +
           " values=" + values + "\n";
  };
  const std::string whole = "run dp=1 cp=1 batch=2 seq_len=2\n" + ids(0, "1,2,3,4", "2x2");
  const auto dealt = [&](const char* last) {
    return "run dp=2 cp=1 batch=2 seq_len=2\ngroup dp 0,1\ngroup cp 0\ngroup cp 1\n" +
           ids(0, "1,2", "1x2") + ids(1, last, "1x2");
  };
  EXPECT_EQ(compared(whole, dealt("3,4")).first(), nullptr);
  const auto other = compared(whole, dealt("3,9"));
  ASSERT_NE(other.first(), nullptr);
  EXPECT_EQ(other.first()->at, (RowPlace{1, {}, 1}));
  EXPECT_EQ(other.first()->worst, 0.25) << "one token of four";
}

TEST(CompareRunsTest, WithoutValuesHashesAndStatisticsAreCompared) {
  const auto stats = [](const char* hash, const char* most) {
    return std::string("run cp=1\ntensor q rank=0 layer=0 shape=1x1x4x1 abs_max=") + most +
           " hash=" + hash + "\n";
  };
  const auto same = compared(stats("7", "3"), stats("7", "3"));
  ASSERT_EQ(same.all.size(), 1u);
  EXPECT_EQ(same.all.front().by, ComparedBy::kHashes);
  EXPECT_EQ(same.first(), nullptr);
  const auto other = compared(stats("7", "3"), stats("8", "4"));
  ASSERT_NE(other.first(), nullptr);
  EXPECT_EQ(other.first()->by, ComparedBy::kStatistics);
  EXPECT_DOUBLE_EQ(other.first()->worst, 0.25);
  EXPECT_EQ(other.first()->rank, WorldRank::of(0));
}

TEST(CompareRunsTest, HashesOfTwoAlgorithmsTellNothingOfOneAnother) {
  const auto stats = [](const char* hash, const char* most) {
    return std::string("run cp=1\ntensor q rank=0 layer=0 shape=1x1x4x1 abs_max=") + most + hash +
           "\n";
  };
  const auto same = compared(stats(" hash=7", "3"), stats(" hash=7 hash_by=gridsum64", "3"));
  ASSERT_EQ(same.all.size(), 1u);
  EXPECT_EQ(same.all.front().by, ComparedBy::kStatistics) << "7 is no hash of the other";
  EXPECT_EQ(same.first(), nullptr);
  const auto other = compared(stats(" hash=7", "3"), stats(" hash=8 hash_by=gridsum64", "4"));
  ASSERT_NE(other.first(), nullptr);
  EXPECT_FALSE(other.first()->rank.exists()) << "no hash tells whose part it is";
}

TEST(CompareRunsTest, StepsComeInOrderAndInputsBeforeLayersBeforeTheLoss) {
  const std::string step = "note step.0 {\"loss\": 2.5, \"grad_norm\": 1}\n";
  const std::string other_step = "note step.0 {\"loss\": 2.25, \"grad_norm\": null}\n";
  const auto both = compared(onOneRank("1,2,3,4") + step, onOneRank("1,2,3,5") + other_step);
  std::vector<std::string> order;
  for (const auto& difference : both.all) order.push_back(difference.tensor);
  EXPECT_EQ(order, (std::vector<std::string>{"q", "k", "v", "out", "loss", "grad_norm"}));
  EXPECT_EQ(both.count(Agreement::kUnknown), 2);
  EXPECT_EQ(both.count(Agreement::kDiffers), 1) << "a number against none";
  EXPECT_TRUE(std::isinf(both.all.back().worst));
}

TEST(CompareRunsTest, CostsOfAStepAndALayerIncludeAllRanks) {
  const std::string events =
      "attend rank=0 layer=0 stage=0 time=0-50 cpu=20\nattend rank=1 layer=0 stage=0 time=0-50 "
      "cpu=30\nsend rank=0 peer=1 layer=0 stage=0 bytes=96 time=5-9\n"
      "send rank=1 peer=0 bytes=4 time=60-61\nwait rank=1 layer=0 stage=0 time=50-57\n"
      "note step.0 {\"loss\": 2, \"peak_bytes\": [10, 30]}\n";
  const auto both =
      compared(onOneRank("1,2,3,4") + events, onOneRank("1,2,3,4") + "note step.0 {\"loss\": 4}\n" +
                                                  "attend rank=0 layer=0 time=0-9 cpu=25\n");
  ASSERT_TRUE(both.costsAt(Place{}) && both.costsAt({0, Layer::of(0)}));
  const CostPair& step = *both.costsAt(Place{});
  EXPECT_EQ(step.run[Cost::kSent], 100);
  EXPECT_EQ(step.run[Cost::kWait], 7);
  EXPECT_EQ(step.run[Cost::kPeak], 30);
  EXPECT_EQ(step.other[Cost::kSent], 0) << "it has events, and none sends";
  EXPECT_FALSE(step.other[Cost::kPeak]);
  EXPECT_EQ(describe(step, Cost::kAttend), "attention, own time: 50 ns against 25 ns (2×)");
  EXPECT_EQ(describe(step, Cost::kLoss), "loss: 2 against 4");
  EXPECT_EQ(describe(step, Cost::kPeak), "");
  EXPECT_EQ(both.costsAt({0, Layer::of(0)})->run[Cost::kSent], 96);
}

TEST(CompareRunsTest, EachSettingThatDiffersIsNamedByItself) {
  const auto both = compared(onOneRank("1,2,3,4") + "run cp=1 seq_len=4 layers=2 steps=3\n",
                             onOneRank("1,2,3,4") + "run cp=1 seq_len=8 layers=1 steps=4\n");
  EXPECT_EQ(both.settings,
            (std::vector<std::string>{"model.layers: 2 against 1", "seq_len: 4 against 8"}))
      << "how many steps there are changes none of them";
  const std::string text = toText(both);
  EXPECT_NE(text.find("The models differ (model.layers)"), std::string::npos) << text;
  EXPECT_NE(text.find("The data differ (seq_len)"), std::string::npos) << text;
  EXPECT_NE(toText(compared(onOneRank("1,2,3,4"), onOneRank("1,2,3,4"))).find("none of those"),
            std::string::npos);
}

TEST(CompareRunsTest, ReportsWhatOneRunLacksAndWhatWouldRecordIt) {
  const std::string step = "note step.0 {\"loss\": 2}\n", more = "note step.1 {\"loss\": 1}\n";
  const std::string text =
      toText(compared(onOneRank("1,2,3,4") + step + more, "run cp=1 seq_len=4\n" + step));
  for (const char* sentence :
       {"not compared: training step 1: the other recording does not have it",
        "the other recording keeps no values of them; --capture full keeps them",
        "balance: the recording has no schedule", "peak memory: the other recording"})
    EXPECT_NE(text.find(sentence), std::string::npos) << sentence << " in\n" << text;
}

TEST(CompareRunsTest, APeakWithVerificationIsNotComparedWithOneWithout) {
  const std::string step = "note step.0 {\"loss\": 2, \"peak_bytes\": [30]}\n";
  const auto both = compared("run cp=1 verify=true\n" + step, "run cp=1\n" + step);
  EXPECT_EQ(both.costsAt(Place{})->run[Cost::kPeak], std::nullopt);
  EXPECT_NE(toText(both).find("peak memory: the recording has it with verification counted in"),
            std::string::npos)
      << toText(both);
}

TEST(CompareRunsTest, CanBeStoppedEarlyAndReportsItsProgress) {
  std::vector<double> shares;
  const auto run = makeTrace(onOneRank("1,2,3,4"));
  const auto asked = [&](double share) {
    shares.push_back(share);
    return true;
  };
  compareRuns(*run, *run, run.get(), asked);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_LE(shares.back(), 1);
  EXPECT_NO_THROW(compareRuns(*run, *run, nullptr, [](double) { return false; }));
}

TEST(CompareRunsTest, ComparesCostsOfEventsWithoutAVerdict) {
  const std::string run = "run cp=1\nattend rank=0 layer=0 time=0-9 cpu=";
  const auto both = compared(run + "5\n", run + "4\n");
  ASSERT_EQ(both.costs.size(), 2u) << "the step and the layer";
  EXPECT_EQ(describe(both.costs.front(), Cost::kAttend),
            "attention, own time: 5 ns against 4 ns (1.25×)");
  EXPECT_EQ(concludeFrom(both).front().substr(0, 7), "– No ");
}

TEST(CompareRunsTest, OneComparisonIsWordedInTheSingular) {
  const std::string run = "run cp=1\nnote step.0 ";
  const auto said = [&](const char* ours, const char* theirs) {
    return concludeFrom(compared(run + ours, run + theirs)).front();
  };
  EXPECT_EQ(said("{\"loss\": 2}\n", "{\"loss\": 2}\n"),
            "✓ The comparison agrees bit for bit or by statistics.");
  EXPECT_EQ(said("{\"loss\": 2, \"grad_norm\": 1}\n", "{\"loss\": 2, \"grad_norm\": 1}\n"),
            "✓ All 2 comparisons agree bit for bit or by statistics.");
  const std::string differs = said("{\"loss\": 2}\n", "{\"loss\": 1}\n");
  EXPECT_TRUE(differs.starts_with("– 1 of 1 comparison differs, and whether")) << differs;
  const std::string nan = said("{\"loss\": 2}\n", "{\"loss\": null}\n");
  EXPECT_TRUE(nan.starts_with("≠ 1 of 1 comparison differs by more than rounding")) << nan;
}

TEST(CompareRunsTest, RecordingsWithoutACommonPlaceAreRefused) {
  try {
    compared("run cp=1\n", onOneRank("1,2,3,4"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("same training step and layer"), std::string::npos);
  }
}

}  // namespace
}  // namespace ringscope::traces
