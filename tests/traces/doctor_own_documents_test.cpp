// SPDX-License-Identifier: Apache-2.0
// Right jobs whose ranks may have sequences, documents or turns of their own, and their weights.
#include <gtest/gtest.h>

#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/target_weights.h"
#include "traces/format/trace/own_averages.h"
#include "traces/format/trace/own_parameters.h"

namespace ringscope::traces {
namespace {

using test::findVerdict;

const std::string kGroup = "run cp=2\ngroup cp 0,1\n";
const std::string kNoGroup = "run cp=2 command=import\n";
const std::string kShards =
    "shard input_ids rank=0 tokens=0-4 local=2x4 full=2x8\n"
    "shard input_ids rank=1 tokens=4-8 local=2x4 full=2x8\n"
    "tensor buffer.input_ids rank=0 shape=1x4 values=10,11,12,13\n"
    "tensor buffer.input_ids rank=1 shape=1x4 values=14,15,16,17\n";

std::string positions(const std::string& of_1) {
  return "tensor position_ids rank=0 shape=1x4 values=0,1,2,3\n"
         "tensor position_ids rank=1 shape=1x4 values=" +
         of_1 + "\n";
}
const std::string kRestarting = positions("0,1,2,3"), kGoingOn = positions("4,5,6,7");

/// Returns a call with one weight for each of two batch entries, of 2 targets each.
CalledLoss picked(double first, double second) {
  CalledLoss call = test::called();
  call.picked = true;
  call.tokens = 8;
  call.entries = {{2, first, first}, {2, second, second}};
  return call;
}

TargetsWeigh weigh(const std::vector<std::vector<CalledLoss>>& ranks,
                   const std::string& more = kGoingOn, const std::string& groups = kGroup) {
  return readTargetWeights(*test::makeTrace(test::kForeign + groups + kShards +
                                            test::lossesNote(0, ranks) + more))
      .are;
}

/// Returns the reading of two ranks with a cross entropy for each of two batch entries.
TargetsWeigh entriesWeigh(double of_0, double of_1, const std::string& more = kGoingOn) {
  auto first = test::called(of_0, 2), second = test::called(0.25, 4), other = test::called(of_1, 4);
  for (CalledLoss* call : {&first, &second, &other}) call->tokens = 4;
  return weigh({{first, second}, {other, second}}, more);
}

TEST(EntryWeightsTest, TargetsOfOneEntryMustWeighTheSameOnAllRanks) {
  EXPECT_EQ(entriesWeigh(0.5, 0.25), TargetsWeigh::kByRankCount);
  EXPECT_NE(entriesWeigh(0.125, 0.125), TargetsWeigh::kByRankCount)
      << "entries may weigh by themselves";
  EXPECT_NE(entriesWeigh(0.5, 0.25, kRestarting), TargetsWeigh::kByRankCount)
      << "each rank has documents of its own";
}

TEST(EntryWeightsTest, OtherWeightsPerRankAreFoundInPairsOfPreferences) {
  EXPECT_EQ(weigh({{picked(0.5, -0.5)}, {picked(0.25, -0.25)}}), TargetsWeigh::kByRank);
  EXPECT_NE(weigh({{picked(0.5, 0.75)}, {picked(0.25, 0.5)}}), TargetsWeigh::kByRank)
      << "advantages of turns";
  EXPECT_NE(weigh({{picked(0.5, -0.5)}, {picked(0.25, -0.25)}}, kRestarting),
            TargetsWeigh::kByRank);
  EXPECT_NE(entriesWeigh(0.5, 0.125), TargetsWeigh::kByRank) << "parts of an image and of text";
}

TEST(TargetWeightsTest, RanksWithSequencesOfTheirOwnMayHaveTheirMeans) {
  const std::vector<std::vector<CalledLoss>> means = {{test::called(0.5, 2)},
                                                      {test::called(0.25, 4)}};
  EXPECT_EQ(weigh(means), TargetsWeigh::kByRankCount);
  EXPECT_EQ(weigh(means, kRestarting), TargetsWeigh::kUnknown);
  EXPECT_EQ(weigh(means, "", kNoGroup), TargetsWeigh::kUnknown) << "data parallelism alone";
}

TEST(OwnAveragesTest, RanksWithSequencesOfTheirOwnMayAverageOverThem) {
  const nlohmann::json note = {{"0", {toJson(LossQuotient{0, 16, {3}, {0.5}})}},
                               {"1", {toJson(LossQuotient{0, 16, {6}, {0.5}})}}};
  const std::string divided =
      test::kForeign + kShards + "note " + lossQuotientsKey(0) + " " + note.dump() + "\n";
  EXPECT_EQ(findVerdict("mean_of_local_means", kGroup + divided + kGoingOn), Verdict::kFound);
  EXPECT_NE(findVerdict("mean_of_local_means", kGroup + divided + kRestarting), Verdict::kFound);
  EXPECT_NE(findVerdict("mean_of_local_means", kNoGroup + divided), Verdict::kFound);
}

TEST(LabelsTest, ADocumentMayEndWhereTheNextRanksPositionsBeginAgain) {
  const auto verdict = [](const std::string& more) {
    std::string job = test::kForeign + kGroup + "intent mask=causal\n";
    for (const char* step : {"0", "1", "2"}) {
      std::istringstream lines(kShards + more +
                               "tensor buffer.labels rank=0 shape=1x4 values=11,12,13,-100\n"
                               "tensor buffer.labels rank=1 shape=1x4 values=15,16,17,-100\n");
      for (std::string line; std::getline(lines, line);) job += line + " step=" + step + "\n";
    }
    return findVerdict("shift_labels_per_shard", job);
  };
  EXPECT_EQ(verdict(kGoingOn), Verdict::kFound);
  EXPECT_NE(verdict(kRestarting), Verdict::kFound);
  const auto of_axes = [](const std::string& row) {
    return " shape=3x1x4 values=" + row + "," + row + "," + row + "\n";
  };
  EXPECT_NE(verdict("tensor position_ids rank=0" + of_axes("0,1,2,3") +
                    "tensor position_ids rank=1" + of_axes("0,1,2,3")),
            Verdict::kFound);
  EXPECT_EQ(verdict("tensor position_ids rank=0" + of_axes("0,1,2,3") +
                    "tensor position_ids rank=1" + of_axes("4,5,6,7")),
            Verdict::kFound);
}

TEST(MissingCpGradReduceTest, AnOptimizerMaySumGradientsInItsStep) {
  const auto verdict = [](const char* weight_of_1) {
    return findVerdict("missing_cp_grad_reduce",
                       test::kForeign + kGroup +
                           "group dp_cp 0,1\n"
                           "tensor grad.w rank=0 direction=backward hash=1\n"
                           "tensor grad.w rank=1 direction=backward hash=2\n"
                           "tensor weight.w rank=0 direction=backward hash=3\n"
                           "tensor weight.w rank=1 direction=backward hash=" +
                           weight_of_1 + "\n");
  };
  EXPECT_EQ(verdict("4"), Verdict::kFound);
  EXPECT_EQ(verdict("3"), Verdict::kNotObservable);
}

TEST(MissingCpGradReduceTest, RanksMayHoldParametersOfTheirOwn) {
  const auto job = [](const OwnParameters& own) {
    return test::kForeign + kGroup +
           "group dp_cp 0,1\n"
           "tensor grad.expert.w rank=0 direction=backward hash=1\n"
           "tensor grad.expert.w rank=1 direction=backward hash=2\n"
           "tensor weight.expert.w rank=0 direction=backward hash=3\n"
           "tensor weight.expert.w rank=1 direction=backward hash=4\n"
           "note " +
           kOwnParametersNote + " " + toJson(own).dump() + "\n";
  };
  EXPECT_EQ(findVerdict("missing_cp_grad_reduce", job({{"other.w"}, false})), Verdict::kFound);
  EXPECT_NE(findVerdict("missing_cp_grad_reduce", job({{"expert.w"}, false})), Verdict::kFound);
}

}  // namespace
}  // namespace ringscope::traces
