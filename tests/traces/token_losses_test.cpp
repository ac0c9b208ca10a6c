// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/compare/token_losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/places.h"
#include "tests/support/recorded_head.h"
#include "tests/support/trace_builder.h"
#include "traces/analysis/sql/named_queries.h"
#include "traces/analysis/sql/query.h"
#include "traces/analysis/verify/recompute/loss.h"
#include "traces/analysis/verify/recompute/step_tensors.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/exchange/tables/cell_text.h"

namespace ringscope::traces {
namespace {

using test::lossesOfTwoRanks;
using test::makeTrace;

const std::vector<WorldRank> kTwoRanks = {WorldRank::of(0), WorldRank::of(1)};
/// Rank 0 has the tokens 0 and 3, rank 1 the tokens 1 and 2, as head_tail deals them.
constexpr const char* kDealt =
    "shard input_ids rank=0 tokens=0-1,3-4 full=1x4 local=1x2\n"
    "shard input_ids rank=1 tokens=1-3 full=1x4 local=1x2\n";

TEST(TokenLossesTest, EveryTargetHasItsLossAtItsPlaceInTheSequence) {
  const auto trace = makeTrace(lossesOfTwoRanks(kDealt));
  const TokenLosses losses = tokenLosses(*trace, 0, kTwoRanks);
  EXPECT_EQ(losses.missing, "");
  ASSERT_EQ(losses.tokens.size(), 3u) << "token 3 has no target";
  const double expected[] = {std::log(2.0), std::log(4.0), std::log(4.0)};
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const TokenLoss& loss = losses.tokens[i];
    EXPECT_EQ(loss.token, TokenIndex::of(i));
    EXPECT_EQ(loss.rank, WorldRank::of(i == 0 ? 0 : 1));
    EXPECT_EQ(loss.label, 1);
    EXPECT_NEAR(loss.loss, expected[i], 1e-12);
    EXPECT_NEAR(loss.log_probability, -expected[i], 1e-12);
    sum += loss.loss;
  }
  const RankLosses ranks = recomputedLosses(*trace, 0);
  EXPECT_NEAR(sum, ranks.ranks[0].own.sum + ranks.ranks[1].own.sum, 1e-12) << "as verify sums them";
}

TEST(TokenLossesTest, SmoothingChangesTheLossAndNotTheProbability) {
  const std::vector<double> logits = {0, std::log(3.0)};
  const TokenEntropy plain = tokenEntropy(logits, 1), smooth = tokenEntropy(logits, 1, 0.2);
  EXPECT_NEAR(plain.loss, std::log(4.0 / 3), 1e-15);
  EXPECT_NEAR(smooth.log_probability, plain.log_probability, 1e-15);
  // A tenth of the target lies on each class.
  EXPECT_NEAR(smooth.loss, 0.9 * std::log(4.0 / 3) + 0.1 * std::log(4.0), 1e-15);
}

TEST(TokenLossesTest, ATensorParallelGroupJoinsItsSlicesOnce) {
  const auto trace = makeTrace(
      "run cp=1 tp=2\ngroup cp 0\ngroup cp 1\ngroup tp 0,1\n"
      "shard input_ids rank=0 tokens=0-2 full=1x2 local=1x2\n"
      "tensor logits rank=0 shape=1x2x1 values=0,1.0986122886681098\n"
      "tensor logits rank=1 shape=1x2x1 values=0,0\n"
      "tensor buffer.labels rank=0 shape=1x2 values=0,1\n"
      "tensor buffer.labels rank=1 shape=1x2 values=0,1\n");
  const TokenLosses losses = tokenLosses(*trace, 0, std::vector{WorldRank::of(0)});
  ASSERT_EQ(losses.tokens.size(), 2u);
  EXPECT_NEAR(losses.tokens[0].loss, std::log(2.0), 1e-12);
  EXPECT_NEAR(losses.tokens[1].loss, std::log(4.0), 1e-12);
}

TEST(TokenLossesTest, SequencesOfReplicasCountOn) {
  const auto trace = makeTrace(
      "run dp=2 cp=1\ngroup dp 0,1\ngroup cp 0\ngroup cp 1\n"
      "shard input_ids rank=0 tokens=0-1 full=2x1 local=2x1\n"
      "shard input_ids rank=1 tokens=0-1 full=2x1 local=2x1\n"
      "tensor logits rank=0 shape=2x1x2 values=0,0,0,0\n"
      "tensor buffer.labels rank=0 shape=2x1 values=0,1\n"
      "tensor logits rank=1 shape=2x1x2 values=0,0,0,0\n"
      "tensor buffer.labels rank=1 shape=2x1 values=0,1\n");
  const TokenLosses losses = tokenLosses(*trace, 0, kTwoRanks);
  ASSERT_EQ(losses.tokens.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(losses.tokens[i].sequence, static_cast<std::int64_t>(i));
}

TEST(TokenLossesTest, SaysWhichRankLacksItsLogitsAndKeepsTheOthers) {
  const auto trace = makeTrace(std::string("group cp 0,1\n") + kDealt +
                               "tensor logits rank=0 shape=1x2x2 values=0,0,7,7\n"
                               "tensor buffer.labels rank=0 shape=1x2 values=1,0\n"
                               "tensor logits rank=1 shape=1x2x2\n"
                               "tensor buffer.labels rank=1 shape=1x2 values=1,1\n");
  const TokenLosses losses = tokenLosses(*trace, 0, kTwoRanks);
  EXPECT_EQ(losses.missing,
            "the values of logits of rank 1 were not kept; --capture full keeps them");
  EXPECT_EQ(losses.tokens.size(), 2u);
  const auto damaged = makeTrace(
      "group cp 0\ntensor logits rank=0 shape=1x1x2 values=0,0\n"
      "tensor buffer.labels rank=0 shape=1x1 values=2\n");
  EXPECT_EQ(tokenLosses(*damaged, 0, std::vector{WorldRank::of(0)}).missing,
            "a label of rank 0 is outside the vocabulary of 2");
}

TEST(TokenLossesTest, AnImportedJobHasThemToo) {
  const auto trace = openTrace(test::inSources("tests/reference/hand_recording"));
  const TokenLosses losses = tokenLosses(*trace, 0, tokenOwners(*trace));
  EXPECT_EQ(losses.missing, "");
  ASSERT_GT(losses.tokens.size(), 8u);
  double sum = 0;
  for (const TokenLoss& loss : losses.tokens) {
    EXPECT_TRUE(loss.token.exists());
    sum += loss.loss;
  }
  const RankLosses ranks = recomputedLosses(*trace, 0);
  EXPECT_NEAR(sum / static_cast<double>(losses.tokens.size()), meanOverTargets(ranks.ranks).value,
              1e-9);
}

TEST(TokenLossesTest, TheTableAndItsNamedQueryHaveEveryTarget) {
  const auto trace = makeTrace(lossesOfTwoRanks(kDealt));
  std::vector<std::string> rows;
  for (const std::string& sql :
       {std::string("SELECT token, rank, label, round(loss, 6), round(log_probability, 6) "
                    "FROM tokens ORDER BY token"),
        std::string(namedQuery("worst_tokens").sql)})
    runQuery(*trace, sql,
             {[](const std::vector<std::string>&) {},
              [&](std::span<const Cell> cells) {
                std::string row;
                for (const Cell& cell : cells) row += asText(cell, "·") + " ";
                rows.push_back(row);
                return true;
              }},
             {});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0], "0 0 1 0.693147 -0.693147 ");
  EXPECT_EQ(rows[1], "1 1 1 1.386294 -1.386294 ");
  EXPECT_EQ(rows[2], "2 1 1 1.386294 -1.386294 ");
  EXPECT_EQ(rows[5].find("0.693147"), 0u) << "the smallest loss is last";
}

}  // namespace
}  // namespace ringscope::traces
