// SPDX-License-Identifier: Apache-2.0
// The differences of two recordings in one tensor, row by row, whatever ranks had a row.
#include "traces/analysis/compare/difference_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/trace_builder.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

using test::makeTrace;

/// Returns one layer of two tokens of two numbers on one rank.
std::string twoTokens(const std::string& out) {
  std::string text = "run cp=1 seq_len=2\ngroup cp 0\nshard q rank=0 dim=2 tokens=0-2\n";
  for (const char* tensor : {"q", "k", "v"})
    text += std::string("tensor ") + tensor + " rank=0 layer=0 shape=1x1x2x2 values=1,2,3,4\n";
  return text + "tensor out rank=0 layer=0 shape=1x1x2x2 values=" + out + "\n";
}
/// Returns the same layer on two ranks, with the first token on the second rank.
std::string oneTokenEach(const std::string& out_0, const std::string& out_1) {
  std::string text =
      "run cp=2 seq_len=2 capture=stats\ngroup cp 0,1\nshard q rank=0 dim=2 tokens=1-2\n"
      "shard q rank=1 dim=2 tokens=0-1\n";
  for (const char* tensor : {"q", "k", "v"})
    text += std::string("tensor ") + tensor + " rank=0 layer=0 shape=1x1x1x2 values=3,4\ntensor " +
            tensor + " rank=1 layer=0 shape=1x1x1x2 values=1,2\n";
  if (!out_0.empty()) text += "tensor out rank=0 layer=0 shape=1x1x1x2 values=" + out_0 + "\n";
  return text + "tensor out rank=1 layer=0 shape=1x1x1x2 values=" + out_1 + "\n";
}
DifferenceMap mapOf(const std::string& run, const std::string& other,
                    const std::string& tensor = "out") {
  return differenceMap(*makeTrace(run), *makeTrace(other), {0, Layer::of(0)}, tensor);
}

TEST(DifferenceMapTest, RowsOfOtherRanksStandUnderTheirTokens) {
  const auto map = mapOf(twoTokens("1,2,3,4"), oneTokenEach("3,7", "1,2"));
  EXPECT_EQ(map.lines, (std::vector<DifferenceMap::Line>{{0, 0}}));
  ASSERT_EQ(map.tokens, (std::vector{TokenIndex::of(0), TokenIndex::of(1)}));
  EXPECT_EQ(map.row(0, 0).difference, 0);
  EXPECT_EQ(map.row(0, 0).other, WorldRank::of(1));
  const RowDifference& row = map.row(0, 1);
  EXPECT_EQ(row.difference, 3);
  EXPECT_EQ(row.element, 1) << "that differs most";
  EXPECT_EQ(row.a, 4);
  EXPECT_EQ(row.b, 7);
  EXPECT_EQ(row.rank, WorldRank::of(0));
  EXPECT_EQ(row.other, WorldRank::of(0));
  EXPECT_NEAR(map.size, std::sqrt((1 + 4 + 9 + 49) / 2.0), 1e-12) << "of the second run's rows";
  EXPECT_EQ(map.share(row), 3 / map.size) << "as the comparison says it of its worst row";
}

TEST(DifferenceMapTest, AValueThatIsFiniteInOnlyOneRunIsInfinitelyFar) {
  const auto map = mapOf(twoTokens("1,nan,3,4"), twoTokens("1,2,3,4"));
  EXPECT_TRUE(std::isinf(map.row(0, 0).difference));
  EXPECT_EQ(map.row(0, 0).element, 1);
  EXPECT_EQ(map.row(0, 1).difference, 0);
  EXPECT_EQ(mapOf(twoTokens("1,nan,3,4"), twoTokens("1,nan,3,4")).row(0, 0).difference, 0);
  const auto zeros = mapOf(twoTokens("1,0,0,0"), twoTokens("0,0,0,0"));
  EXPECT_TRUE(std::isinf(zeros.share(zeros.row(0, 0)))) << "there is no size to measure it by";
  EXPECT_EQ(zeros.share(zeros.row(0, 1)), 0);
}

TEST(DifferenceMapTest, ARowThatOneRunLacksIsListedAndNotCompared) {
  const auto map = mapOf(twoTokens("1,2,3,4"), oneTokenEach("", "1,2"));
  ASSERT_EQ(map.rows.size(), 2u);
  EXPECT_TRUE(map.row(0, 0).compared());
  EXPECT_FALSE(map.row(0, 1).compared());
  EXPECT_TRUE(map.row(0, 1).rank.exists() && !map.row(0, 1).other.exists());
  EXPECT_TRUE(map.missing.empty());
  EXPECT_EQ(map.other_missing, std::vector<std::string>{"out of rank 0 is not recorded; --capture "
                                                        "values:steps=0 keeps them"});
}

TEST(DifferenceMapTest, NamesTheCaptureThatKeepsMissingValues) {
  const std::string stats =
      "run cp=1 seq_len=2 capture=stats\ngroup cp 0\nshard q rank=0 dim=2 tokens=0-2\n"
      "tensor q rank=0 layer=0 shape=1x1x2x2\ntensor k rank=0 layer=0 shape=1x1x2x2\n"
      "tensor v rank=0 layer=0 shape=1x1x2x2\n";
  const auto map = mapOf(stats, twoTokens("1,2,3,4"));
  EXPECT_TRUE(map.rows.empty());
  EXPECT_EQ(map.missing, std::vector<std::string>{"the values of q of rank 0 were not kept; "
                                                  "--capture values:steps=0 keeps them"});
  EXPECT_TRUE(map.other_missing.empty());
  EXPECT_EQ(mapOf(stats, stats, "position_ids").other_missing,
            std::vector<std::string>{"no values of position_ids in training step 0 are recorded; "
                                     "--capture full keeps them"});
}

TEST(DifferenceMapTest, PositionsDifferByPositionsAndTokensByName) {
  const auto inputs = [](const char* values) {
    return std::string("run cp=1 seq_len=3\ngroup cp 0\nshard input_ids rank=0 tokens=0-3\n") +
           "tensor position_ids rank=0 shape=1x3 values=" + values +
           "\ntensor buffer.input_ids rank=0 shape=1x3 values=" + values + "\n";
  };
  const auto positions = mapOf(inputs("0,1,9"), inputs("0,1,2"), "position_ids");
  EXPECT_EQ(positions.lines, (std::vector<DifferenceMap::Line>{{0, {}}}));
  EXPECT_EQ(positions.row(0, 2).difference, 7);
  EXPECT_EQ(positions.size, 1);
  const auto ids = mapOf(inputs("0,1,9"), inputs("0,1,2"), "buffer.input_ids");
  EXPECT_EQ(ids.row(0, 2).difference, 1) << "9 is no farther from 2 than from 8";
  EXPECT_EQ(ids.row(0, 2).a, 9);
  EXPECT_EQ(ids.row(0, 1).difference, 0);
}

TEST(DifferenceMapTest, OthersHaveNoRowsByToken) {
  EXPECT_TRUE(hasRowsByToken("dk"));
  EXPECT_TRUE(hasRowsByToken("buffer.labels"));
  for (const char* tensor : {"logits", "loss", "grad.lm_head.weight", "cos"}) {
    EXPECT_FALSE(hasRowsByToken(tensor));
    EXPECT_TRUE(mapOf(twoTokens("1,2,3,4"), twoTokens("1,2,3,4"), tensor).rows.empty());
  }
}

}  // namespace
}  // namespace ringscope::traces
