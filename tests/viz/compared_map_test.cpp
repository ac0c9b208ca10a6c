// SPDX-License-Identifier: GPL-3.0-or-later
// A map of |A − B| of a tensor: the text of a row, its colour, and that folding hides no row.
#include "viz/scene/compared_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"

namespace ringscope::viz {
namespace {

using traces::DifferenceMap;
using traces::RowDifference;

RowDifference row(double difference, int rank = 0, int other = 1) {
  return {difference, 1, 1 + difference, 3, WorldRank::of(rank), WorldRank::of(other)};
}
RowDifference lacking() {
  RowDifference row;
  row.rank = WorldRank::of(2);
  return row;
}
/// Returns two heads with these differences of their tokens.
std::shared_ptr<DifferenceMap> mapOf(const std::vector<RowDifference>& first,
                                     const std::vector<RowDifference>& second) {
  auto map = std::make_shared<DifferenceMap>();
  map->tensor = "k";
  map->lines = {{0, 0}, {0, 1}};
  for (std::size_t i = 0; i < first.size(); ++i)
    map->tokens.push_back(TokenIndex::of(static_cast<std::int64_t>(10 * i)));
  map->rows = first;
  map->rows.insert(map->rows.end(), second.begin(), second.end());
  map->width = 8;
  map->size = 2;
  return map;
}
ComparedMap sceneOf(std::shared_ptr<const DifferenceMap> map, const std::string& problem = "",
                    const std::string& tensor = "k") {
  return makeComparedMap(mapSubject({0, traces::Layer::of(3)}, tensor), std::move(map), problem,
                         {});
}

TEST(ComparedMapTest, SaysOfARowBothValuesAndWhoHadThem) {
  const auto scene = sceneOf(mapOf({row(0), row(0.5)}, {row(0), lacking()}));
  EXPECT_EQ(scene.title, "|A − B| OF k, LAYER 3 · FORWARD, BY HEAD AND TOKEN");
  EXPECT_EQ(scene.lines, (std::vector<std::string>{"head 0", "head 1"}));
  EXPECT_EQ(describeRow(scene, 0), "head 0, token 0 is equal in both; rank 0 in A, rank 1 in B");
  EXPECT_EQ(describeRow(scene, 1),
            "head 0, token 10 differs by 0.25 of its size; most at number 3: 1 in A (rank 0), 1.5 "
            "in B (rank 1)");
  EXPECT_EQ(describeRow(scene, 1, 12).substr(0, 38), "worst of 12 rows here: head 0, token 1");
  EXPECT_EQ(describeRow(scene, 3), "head 1, token 10 is not recorded in B; rank 2 had it in A");
  EXPECT_EQ(scene.largest, "1 of 3 rows differs. Largest: " + describeRow(scene, 1) + ".");
  EXPECT_EQ(sceneOf(mapOf({row(0)}, {row(0)})).largest, "✓ All 2 rows are equal.");
}

TEST(ComparedMapTest, ColoursGoBetweenPowersOfTenAndEqualHasItsOwn) {
  const auto scene = sceneOf(mapOf({row(0), row(2)}, {row(0.02), row(INFINITY)}));
  EXPECT_EQ(scene.low, 0.01) << "the least is 0.02 ÷ 2";
  EXPECT_EQ(scene.high, 1);
  const auto level = [&](std::size_t at) { return scene.level(scene.map->rows[at]); };
  EXPECT_EQ(level(0), 0);
  EXPECT_EQ(level(1), 1);
  EXPECT_GT(*level(2), 0) << "what differs is never drawn as equal";
  EXPECT_LT(*level(2), 0.05);
  EXPECT_TRUE(std::isinf(*level(3)) && scene.has_infinite);
  EXPECT_FALSE(scene.level(lacking()).has_value());
}

TEST(ComparedMapTest, FromARowThatDiffersTheNextOneIsFoundBothWaysRound) {
  const auto scene = sceneOf(mapOf({row(0), row(0.5), lacking()}, {row(2), row(0), row(0)}));
  const auto from = [&](std::optional<std::size_t> at, bool forward) {
    return rowThatDiffers(scene, at, forward);
  };
  EXPECT_EQ(from({}, true), 3u) << "the one that differs most";
  EXPECT_EQ(from({}, false), 3u);
  EXPECT_EQ(from(3, true), 1u) << "past the end to the first";
  EXPECT_EQ(from(1, true), 3u) << "past what only one of both has";
  EXPECT_EQ(from(1, false), 3u);
  EXPECT_EQ(from(0, true), 1u);
  EXPECT_EQ(rowThatDiffers(sceneOf(mapOf({row(0)}, {row(0)})), {}, true), std::nullopt);
  EXPECT_EQ(rowThatDiffers(sceneOf(mapOf({row(0)}, {row(1)})), 1, true), 1u) << "the only one";
  EXPECT_EQ(rowThatDiffers(sceneOf(nullptr), {}, true), std::nullopt);
}

TEST(ComparedMapTest, AFoldHasTheWorstOfWhatFallsOnItAndNeverTheMean) {
  const auto map = mapOf({row(0), row(0), row(9), row(0), row(0), lacking()},
                         {row(0), row(0), row(0), row(0), lacking(), lacking()});
  const FoldedMap three = folded(*map, 3, 2);
  EXPECT_EQ(three.columns, 3u);
  EXPECT_EQ(three.worst[1], 2u) << "one row of two";
  EXPECT_EQ(three.worst[2], 4u) << "what was compared is shown before what was not";
  EXPECT_FALSE(map->rows[three.worst[5]].compared()) << "nothing of it was";
  EXPECT_EQ(three.comparedRows(*map, 0, 1), 2);
  const FoldedMap one = folded(*map, 1, 1);
  EXPECT_EQ(one.worst, std::vector<std::size_t>{2});
  EXPECT_EQ(one.comparedRows(*map, 0, 0), 12);
  EXPECT_EQ(folded(*map, 1000, 1000).worst.size(), 12u) << "no more points than rows";
}

TEST(ComparedMapTest, WithoutRowsItSaysWhatWouldHaveKeptThem) {
  auto bare = std::make_shared<DifferenceMap>();
  bare->other_missing = {"q of rank 0 is not recorded; --capture full keeps it"};
  EXPECT_EQ(sceneOf(bare).note, "B: q of rank 0 is not recorded; --capture full keeps it.");
  EXPECT_TRUE(sceneOf(bare).empty());
  EXPECT_EQ(sceneOf(nullptr).note, "Reading k of both …");
  EXPECT_EQ(sceneOf(nullptr, "a.rscope cannot be read").note, "▲ a.rscope cannot be read");
  EXPECT_TRUE(sceneOf(bare, "", "logits").note.starts_with("logits is compared as a whole."));
  auto part = mapOf({row(0)}, {lacking()});
  part->other_missing = {"k of rank 1 is not recorded; --capture full keeps it"};
  EXPECT_TRUE(sceneOf(part).note.empty());
  EXPECT_EQ(sceneOf(part).lacks.size(), 1u);
}

/// Restarting positions rotate k of all tokens outside the first chunk.
TEST(ComparedMapTest, AlignsTheSameTokensOfTwoMeshes) {
  test::RingRun wrong;
  wrong.restarts_positions = true;
  const auto a = test::recordedTrace(wrong), b = test::recordedTrace(test::contiguous());
  const auto comparison = traces::compareRuns(*a, *b);
  for (const char* tensor : {"q", "out", "lse", "dk"}) {
    const auto subject = mapSubject({0, traces::Layer::of(1)}, tensor);
    const auto map = traces::differenceMap(*a, *b, subject.place, tensor);
    const auto found = std::ranges::find_if(comparison.all, [&](const auto& d) {
      return d.place == subject.place && d.tensor == tensor;
    });
    ASSERT_NE(found, comparison.all.end()) << tensor;
    double worst = 0;
    for (const RowDifference& each : map.rows) worst = std::max(worst, map.share(each));
    EXPECT_NEAR(worst, found->worst, 1e-12) << tensor << ": the table says the same";
    EXPECT_EQ(std::ssize(map.rows), found->rows) << tensor;
  }
}

}  // namespace
}  // namespace ringscope::viz
