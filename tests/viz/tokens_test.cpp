// SPDX-License-Identifier: GPL-3.0-or-later
// The strip of a sequence's losses: points, borders, owners, columns and differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/trace_builder.h"
#include "tests/viz/indexed_trace.h"
#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "viz/scene/groups.h"
#include "viz/views/tokens/tokens_scene.h"

namespace ringscope::viz {
namespace {

using test::recordedTrace;
using test::RingRun;

RingRun withLogits(RingRun run = {}) {
  run.steps = run.layers = 1;
  run.keeps_logits = true;
  return run;
}

traces::TokenLosses lossesIn(const traces::Trace& trace) {
  return traces::tokenLosses(trace, 0, groupRanks(trace, 0));
}

TokensScene sceneFor(const traces::Trace& trace, const OtherLosses& other = {}) {
  return makeTokensScene(trace, test::firstStep(), 0, lossesIn(trace), other);
}

/// The loss of a token whose label has the logit that RingRecords::putLogits() gives it.
double expectedLoss(int token) {
  const double logit = 5 + 2 * std::sin(token / 5.0);
  return std::log(std::exp(logit) + 127) - logit;
}

TEST(TokensSceneTest, EveryTargetStandsAtItsGlobalPositionUnderEveryBalance) {
  for (const auto balance :
       {traces::Balance::kNone, traces::Balance::kHeadTail, traces::Balance::kStriped}) {
    RingRun run = withLogits();
    run.balance = balance;
    const TokensScene scene = sceneFor(*recordedTrace(run));
    EXPECT_EQ(scene.note, "");
    EXPECT_EQ(scene.length, 128);
    ASSERT_EQ(scene.points.size(), 127u) << "the last token has no target";
    double sum = 0;
    for (int token = 0; token < 127; ++token) {
      const TokenPoint& point = scene.points[static_cast<std::size_t>(token)];
      EXPECT_EQ(point.token, TokenIndex::of(token));
      EXPECT_EQ(point.label, 'a' + (token + 1) % 26);
      EXPECT_NEAR(point.loss, expectedLoss(token), 1e-6);
      EXPECT_NEAR(point.log_probability, -expectedLoss(token), 1e-6);
      sum += point.loss;
    }
    EXPECT_NEAR(scene.mean, sum / 127, 1e-12);
    const auto worst = std::ranges::max_element(scene.points, {}, &TokenPoint::loss);
    EXPECT_EQ(scene.worst, worst - scene.points.begin());
  }
}

TEST(TokensSceneTest, BordersNameChunksShardsAndDocuments) {
  const TokensScene scene = sceneFor(*recordedTrace(withLogits()));
  ASSERT_EQ(scene.owners.size(), 8u);
  const int ranks[] = {0, 1, 2, 3, 3, 2, 1, 0};
  for (int chunk = 0; chunk < 8; ++chunk)
    EXPECT_EQ(scene.owners[static_cast<std::size_t>(chunk)],
              (OwnedTokens{chunk * 16, chunk * 16 + 16, WorldRank::of(ranks[chunk])}));
  ASSERT_EQ(scene.borders.size(), 7u);
  for (const TokenBorder& border : scene.borders) {
    EXPECT_TRUE(border.chunk);
    EXPECT_EQ(border.shard, border.before != 64) << "rank 3 has both chunks in the middle";
    EXPECT_FALSE(border.document);
  }
  const TokensScene packed = sceneFor(*recordedTrace(withLogits(test::packed())));
  const auto documents = std::ranges::count_if(packed.borders, &TokenBorder::document);
  EXPECT_EQ(documents, std::ssize(test::packed().documents) - 1);
}

TEST(TokensSceneTest, DifferencesAreMatchedByTokenAcrossMeshes) {
  RingRun other = withLogits();
  other.cp = 2;
  other.balance = traces::Balance::kStriped;
  other.guesses_from = 100;
  const auto trace = recordedTrace(withLogits()), second = recordedTrace(other);
  const TokensScene scene = sceneFor(*trace, {"b.rscope", lossesIn(*second), true});
  EXPECT_EQ(scene.other_note, "");
  for (const TokenPoint& point : scene.points) {
    ASSERT_TRUE(point.other);
    const auto token = static_cast<int>(point.token.value());
    const double wanted = token < 100 ? 0 : expectedLoss(token) - std::log(128.0);
    EXPECT_NEAR(point.difference(), wanted, 1e-6) << token;
  }
  const std::string said = describe(scene);
  EXPECT_NE(said.find("Against b.rscope token 1"), std::string::npos) << said;
  const TokensScene same = sceneFor(*trace, {"a.rscope", lossesIn(*trace), true});
  EXPECT_NE(describe(same).find("Every loss equals that of a.rscope."), std::string::npos);
}

TEST(TokensSceneTest, AnotherGroupIsComparedByThePlaceInItsBatch) {
  std::string lines = "run dp=2 cp=1\ngroup dp 0,1\ngroup cp 0\ngroup cp 1\n";
  for (const char* rank : {"0", "1"}) {
    const std::string is = std::string(" rank=") + rank;
    lines += "shard input_ids" + is + " tokens=0-1 full=2x1 local=2x1\n" + "tensor logits" + is +
             " shape=2x1x2 values=0,0,0," + rank + "\ntensor buffer.labels" + is +
             " shape=2x1 values=0,1\n";
  }
  const auto trace = test::makeTrace(lines);
  const auto own = traces::tokenLosses(*trace, 0, std::vector{WorldRank::of(0)});
  const OtherLosses other = {"rank 1",
                             traces::tokenLosses(*trace, 0, std::vector{WorldRank::of(1)}), false};
  const TokensScene first = makeTokensScene(*trace, Cursor(), 0, own, other);
  EXPECT_EQ(first.sequences, 2);
  ASSERT_EQ(first.points.size(), 1u);
  EXPECT_EQ(first.points[0].difference(), 0);
  const TokensScene second = makeTokensScene(*trace, Cursor(), 7, own, other);
  EXPECT_EQ(second.sequence, 1) << "the last of the batch";
  ASSERT_EQ(second.points.size(), 1u);
  EXPECT_NEAR(second.points[0].difference(), std::log(2.0) - std::log(1 + std::exp(-1)), 1e-12);
}

TEST(TokensSceneTest, SaysWhyThereAreNoLossesOrNoDifferences) {
  RingRun run = withLogits();
  run.keeps_logits = false;
  const auto without = recordedTrace(run), with = recordedTrace(withLogits());
  EXPECT_NE(sceneFor(*without).note.find("Not shown: logits of rank 0 is not recorded; "),
            std::string::npos)
      << sceneFor(*without).note;
  const TokensScene scene = sceneFor(*with, {"b.rscope", lossesIn(*without), true});
  EXPECT_EQ(scene.worst_difference, -1);
  EXPECT_NE(scene.other_note.find("b.rscope: logits of rank 0"), std::string::npos);
  EXPECT_EQ(sceneFor(traces::Trace()).note, "No token of this group has a target in this step.");
}

TEST(TokensSceneTest, ColumnsKeepTheWorstTokenAndTheMean) {
  const TokensScene scene = sceneFor(*recordedTrace(withLogits()));
  const auto single = gatherColumns(scene, 1000);
  ASSERT_EQ(single.size(), 128u) << "at most one column per token";
  EXPECT_EQ(single.back().points, 0u);
  EXPECT_EQ(single[20].mean, scene.points[20].loss);
  for (const std::int64_t count : {1, 7, 50}) {
    const auto columns = gatherColumns(scene, count);
    ASSERT_EQ(std::ssize(columns), count);
    std::size_t points = 0;
    double largest = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      points += columns[c].points;
      largest = std::max(largest, columns[c].largest);
      const TokenPoint& worst = scene.points[static_cast<std::size_t>(columns[c].point)];
      EXPECT_EQ(worst.loss, columns[c].largest);
      EXPECT_GE(worst.token.value(), columns[c].first);
      const bool is_last = c + 1 == columns.size();
      EXPECT_LT(worst.token.value(), is_last ? scene.length : columns[c + 1].first);
    }
    EXPECT_EQ(points, 127u);
    EXPECT_EQ(largest, scene.points[static_cast<std::size_t>(scene.worst)].loss);
  }
  EXPECT_TRUE(gatherColumns(TokensScene(), 10).empty());
}

TEST(TokensSceneTest, DescribesATarget) {
  const TokensScene scene = sceneFor(*recordedTrace(withLogits()));
  const std::string said = describePoint(scene, scene.points[17]);
  EXPECT_EQ(said.find("token 17 · rank 1 · label s · loss "), 0u) << said;
}

}  // namespace
}  // namespace ringscope::viz
