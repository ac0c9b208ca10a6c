// SPDX-License-Identifier: Apache-2.0
// Merges and convolutions that the recorder judged, and gradients that show one head.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/traces/called_losses_notes.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/idle_sinks.h"
#include "traces/analysis/doctor/observed_faults.h"
#include "traces/analysis/doctor/target_weights.h"
#include "traces/exchange/import/recording/whole_ids.h"
#include "traces/format/trace/observed_parts.h"

namespace ringscope::traces {
namespace {

const std::string kJob = test::kForeign + "run cp=2\ngroup cp 0,1\n";
const std::string kIds = "tensor buffer.input_ids rank=0 shape=1x4 values=1,2,3,4\n";

/// Returns the note of a step in which both ranks merged partial outputs four times.
std::string merges(const std::string& found, bool second_appends = false) {
  nlohmann::json note;
  for (const char* rank : {"0", "1"})
    for (int at = 0; at < 4; ++at) {
      PartialMerge merge{Layer::of(0), at, found, "", 12, rank[0] == '0' || second_appends};
      note[rank].push_back(toJson(merge));
    }
  return kJob + kIds + "note " + partialMergesKey(0) + " " + note.dump() + "\n";
}

TEST(ObservedFaultsTest, AMergeThatAMistakeReproducesIsNamed) {
  const auto mean = wrongPartialMerge(*test::makeTrace(merges("MEAN")));
  ASSERT_TRUE(mean);
  EXPECT_EQ(mean->rule, "naive_sum_merge");
  const auto base = wrongPartialMerge(*test::makeTrace(merges("WRONG_BASE")));
  ASSERT_TRUE(base);
  EXPECT_EQ(base->rule, "lse_base2");
  EXPECT_FALSE(wrongPartialMerge(*test::makeTrace(merges("NONE"))));
  EXPECT_FALSE(wrongPartialMerge(*test::makeTrace(merges("UNKNOWN"))));
}

TEST(ObservedFaultsTest, ATokenThatTwoRanksKeepIsFound) {
  EXPECT_TRUE(tokenKeptTwice(*test::makeTrace(merges("NONE", true))));
  EXPECT_FALSE(tokenKeptTwice(*test::makeTrace(merges("NONE"))));
  EXPECT_FALSE(tokenKeptTwice(*test::makeTrace(merges("UNKNOWN", true))));
}

/// Returns a job whose convolutions begin with zeros on the ranks that are given.
std::string convolutions(bool second_has_zeros, bool moved = false, std::int64_t tokens = 4) {
  nlohmann::json note;
  note["0"].push_back(toJson(CausalConvolution{0, "m.conv", tokens, 3, true, moved}));
  note["1"].push_back(toJson(CausalConvolution{0, "m.conv", tokens, 3, second_has_zeros, moved}));
  return kJob + kIds + "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n" +
         "note " + causalConvolutionsKey(0) + " " + note.dump() + "\n";
}

TEST(ObservedFaultsTest, AConvolutionThatBeginsWithZerosOnEveryRankIsFound) {
  const auto finding = convolutionWithoutHalo(*test::makeTrace(convolutions(true)));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->buffer, "m.conv");
  EXPECT_FALSE(convolutionWithoutHalo(*test::makeTrace(convolutions(false))));
  EXPECT_FALSE(convolutionWithoutHalo(*test::makeTrace(convolutions(true, true))))
      << "a message may have brought the tokens";
  EXPECT_FALSE(convolutionWithoutHalo(*test::makeTrace(convolutions(true, false, 8))))
      << "a convolution of all tokens";
}

/// Returns a job whose ranks scatter so many rows of features each.
std::string scattered(std::int64_t first, std::int64_t second, const char* hash_of_second) {
  nlohmann::json note;
  note["0"].push_back(toJson(ScatteredFeatures{0, 4, 5, first, "a"}));
  note["1"].push_back(toJson(ScatteredFeatures{0, 4, 5, second, hash_of_second}));
  return kJob + kIds + "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n" +
         "note " + scatteredFeaturesKey(0) + " " + note.dump() + "\n";
}

TEST(ObservedFaultsTest, FeaturesThatAllRanksTakeFromTheFirstAreFound) {
  const auto finding = featuresFromTheFirst(*test::makeTrace(scattered(3, 2, "a")));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->rule, "media_cut_wrongly");
  EXPECT_FALSE(featuresFromTheFirst(*test::makeTrace(scattered(3, 2, "b")))) << "parts of features";
  EXPECT_FALSE(featuresFromTheFirst(*test::makeTrace(scattered(5, 5, "a")))) << "whole sequences";
  EXPECT_FALSE(featuresFromTheFirst(*test::makeTrace(scattered(5, 0, "a")))) << "media of one rank";
}

TEST(IdleSinksTest, SinksOfTheFirstHeadsAloneAreFound) {
  const auto sinks = [](const char* name, const char* values) {
    return sinksOfFirstHeads(*test::makeTrace(
        kJob + "tensor q rank=0 layer=0 shape=1x4x2x1 values=1,2,3,4,5,6,7,8\ntensor grad." + name +
        " rank=0 direction=backward shape=4 values=" + values + "\n"));
  };
  EXPECT_TRUE(sinks("sinks", "0.5,0.25,0,0"));
  EXPECT_FALSE(sinks("sinks", "0.5,0.25,0.125,0"));
  EXPECT_FALSE(sinks("sinks", "0.5,0,0,0")) << "fewer heads than a rank has";
  EXPECT_FALSE(sinks("gate", "0.5,0.25,0,0")) << "another parameter";
}

/// Returns the reading of two ranks with a cross entropy for each of two batch entries.
TargetsWeigh entriesWeigh(double of_0, double of_1) {
  auto first = test::called(of_0, 2), second = test::called(0.25, 4), other = test::called(of_1, 4);
  for (CalledLoss* call : {&first, &second, &other}) call->tokens = 4;
  const std::string shards =
      "shard input_ids rank=0 tokens=0-4 local=2x4 full=2x8\n"
      "shard input_ids rank=1 tokens=4-8 local=2x4 full=2x8\n";
  return readTargetWeights(
             *test::makeTrace(kJob + kIds + shards +
                              test::lossesNote(0, {{first, second}, {other, second}})))
      .are;
}

TEST(EntryWeightsTest, TargetsOfOneEntryMustWeighTheSameOnAllRanks) {
  EXPECT_EQ(entriesWeigh(0.5, 0.25), TargetsWeigh::kByRankCount);
  EXPECT_EQ(entriesWeigh(0.5, 0.125), TargetsWeigh::kByRank);
  EXPECT_NE(entriesWeigh(0.125, 0.125), TargetsWeigh::kByRankCount)
      << "entries may weigh by themselves";
  EXPECT_NE(entriesWeigh(0.125, 0.125), TargetsWeigh::kByRank);
}

TEST(WholeIdsTest, TargetsTellWhichTokensARankHas) {
  std::vector<std::int64_t> ids(32), first, second;
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i * i % 31);
  for (std::size_t i = 0; i < 16; ++i) {
    first.push_back(ids[i + 1]);
    second.push_back(i + 17 < 32 ? ids[i + 17] : -100);
  }
  const auto tokens = tokensOfWholeIds({{&ids, &first, 1}, {&ids, &second, 1}});
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(tokens[1].front(), 16);
  EXPECT_TRUE(tokensOfWholeIds({{&ids, &second, 1}, {&ids, &first, 1}}).empty());
  auto other = ids;
  other[3] = 77;
  EXPECT_TRUE(tokensOfWholeIds({{&ids, &first, 1}, {&other, &second, 1}}).empty());
}

}  // namespace
}  // namespace ringscope::traces
