// SPDX-License-Identifier: Apache-2.0
// Merges and convolutions that the recorder judged, and gradients of sinks.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/traces/doctor_answers.h"
#include "traces/analysis/doctor/idle_sinks.h"
#include "traces/analysis/doctor/observed_faults.h"
#include "traces/exchange/import/recording/whole_ids.h"
#include "traces/format/trace/observed_parts.h"

namespace ringscope::traces {
namespace {

const std::string kJob = "note framework \"pytorch\"\nrun cp=2\ngroup cp 0,1\n";
const std::string kIds = "tensor buffer.input_ids rank=0 shape=1x4 values=1,2,3,4\n";

/// Returns the note of a step in which both ranks merged partial outputs four times. Each rank has
/// a group of its own if `alone`.
std::string merges(const std::string& found, bool second_appends = false, bool alone = false) {
  nlohmann::json note;
  for (const char* rank : {"0", "1"})
    for (int at = 0; at < 4; ++at) {
      PartialMerge merge{Layer::of(0),
                         at,
                         found,
                         "",
                         12,
                         rank[0] == '0' || second_appends,
                         {WorldRank::of(alone ? rank[0] - '0' : 0)}};
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
  EXPECT_FALSE(tokenKeptTwice(*test::makeTrace(merges("NONE", true, true)))) << "two groups";
}

const std::string kState = "receive rank=1 peer=0 bytes=8\n";

/// Returns a job whose convolutions begin with zeros on the ranks that are given.
std::string convolutions(bool second_has_zeros, bool moved = false, std::int64_t tokens = 4,
                         const std::string& more = kState) {
  nlohmann::json note;
  note["0"].push_back(toJson(CausalConvolution{0, "m.conv", tokens, 3, true, moved}));
  note["1"].push_back(toJson(CausalConvolution{0, "m.conv", tokens, 3, second_has_zeros, moved}));
  return kJob + kIds + "shard input_ids rank=0 tokens=0-4\nshard input_ids rank=1 tokens=4-8\n" +
         "note " + causalConvolutionsKey(0) + " " + note.dump() + "\n" + more;
}

TEST(ObservedFaultsTest, ZerosBeforeAConvolutionOnEveryRankAreFoundBesideAState) {
  const auto finds = [](const std::string& job) {
    return convolutionWithoutHalo(*test::makeTrace(job)).has_value();
  };
  const auto finding = convolutionWithoutHalo(*test::makeTrace(convolutions(true)));
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->buffer, "m.conv");
  EXPECT_FALSE(finds(convolutions(false)));
  EXPECT_FALSE(finds(convolutions(true, true))) << "a message may have brought the tokens";
  EXPECT_FALSE(finds(convolutions(true, false, 8))) << "a convolution of all tokens";
  EXPECT_FALSE(finds(convolutions(true, false, 4, ""))) << "convolutions of chunks or clips";
  EXPECT_FALSE(finds(convolutions(true, false, 4, kState + "receive rank=0 peer=1 bytes=8\n")))
      << "a ring";
  EXPECT_FALSE(finds(convolutions(true, false, 4,
                                  kState + "tensor position_ids rank=0 shape=4 values=0,1,2,3\n"
                                           "tensor position_ids rank=1 shape=4 values=0,1,2,3\n")))
      << "a document on each rank";
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

TEST(IdleSinksTest, SinksOfTheFirstHeadsAloneAreFoundOnAllRanks) {
  const auto sinks = [](const std::string& name, const std::string& of_0, const std::string& of_1,
                        const std::string& payload = "heads") {
    std::string job = kJob;
    for (const auto& [rank, values] : {std::pair("0", of_0), std::pair("1", of_1)})
      job += std::string("tensor q rank=") + rank +
             " layer=0 shape=1x4x2x1 values=1,2,3,4,5,6,7,8\ntensor grad." + name +
             " rank=" + rank + " direction=backward shape=4 values=" + values +
             "\ncollective rank=" + rank + " payload=" + payload + " layer=0 bytes=8\n";
    return sinksOfFirstHeads(*test::makeTrace(job));
  };
  const std::string first = "0.5,0.25,0,0";
  EXPECT_TRUE(sinks("sinks", first, first));
  EXPECT_FALSE(sinks("sinks", "0.5,0.25,0.125,0", first));
  EXPECT_FALSE(sinks("sinks", "0.5,0,0,0", "0.5,0,0,0")) << "fewer heads than a rank has";
  EXPECT_FALSE(sinks("gate", first, first)) << "another parameter";
  EXPECT_FALSE(sinks("sinks", first, "0,0,0.5,0.25")) << "gradients that are summed later";
  EXPECT_FALSE(sinks("sinks", first, first, "kv")) << "some heads have sinks, none travels";
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
