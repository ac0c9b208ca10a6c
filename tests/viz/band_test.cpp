// SPDX-License-Identifier: GPL-3.0-or-later
// The pairs of pieces and masks, compared with counting them one by one.
#include "traces/format/schema/band.h"

#include <gtest/gtest.h>

#include "tests/viz/recorded_ring.h"
#include "tests/viz/ring_runs.h"
#include "viz/scene/meant.h"

namespace ringscope::viz {
namespace {

using traces::Band;

int counted(const Band& band) {
  int pairs = 0;
  for (auto q = band.q_begin; q < band.q_end; ++q)
    for (auto k = band.k_begin; k < band.k_end; ++k)
      pairs += k - q >= band.low && k - q <= band.high;
  return pairs;
}

TEST(BandTest, CountsItsPairsInAClosedForm) {
  for (const std::int64_t q_end : {3, 5, 9})
    for (const std::int64_t k_begin : {0, 2, 6})
      for (const std::int64_t k_end : {6, 7, 13})
        for (std::int64_t low = -8; low < 9; low += 3)
          for (std::int64_t high = low - 2; high < 12; high += 2) {
            const Band band{2, q_end, k_begin, k_end, low, high};
            EXPECT_EQ(band.pairs(), counted(band)) << low << " to " << high;
            EXPECT_EQ(band.empty(), counted(band) == 0) << low << " to " << high;
          }
}

TEST(BandTest, AnIntersectionHasTheSamePairsFromAnyRow) {
  const Band a{0, 8, 0, 8, -3, 1}, b{2, 9, 1, 6, -2, 4};
  int in_both = 0;
  for (int q = 2; q < 8; ++q)
    for (int k = 1; k < 6; ++k) in_both += k - q >= -2 && k - q <= 1;
  EXPECT_EQ(a.both(b).pairs(), in_both);
  EXPECT_EQ(a.both(b).from(2, 1), (Band{0, 6, 0, 5, -1, 2}));
  EXPECT_EQ(a.both(b).from(2, 1).pairs(), in_both);
}

TEST(BandTest, ABandOfAPieceHasThePairsOfItsMask) {
  using traces::PieceMask;
  EXPECT_EQ(Band::of({0, 4, 8, 12, PieceMask::kFull}).pairs(), 16);
  EXPECT_EQ(Band::of({0, 4, 8, 12, PieceMask::kCausal}).pairs(), 10);
  EXPECT_EQ(Band::of({0, 4, 8, 12, PieceMask::kStrict}).pairs(), 6);
  EXPECT_EQ(Band::of({0, 4, 8, 12, PieceMask::kTileMask, 7, 8}).pairs(), 7);
  EXPECT_TRUE(Band::of({0, 4, 8, 12, PieceMask::kCausal}).cutAbove());
  EXPECT_FALSE(Band::of({0, 4, 8, 12, PieceMask::kFull}).cutAbove());
}

TEST(BandTest, AnEventTakesTheTileMaskOfItsPieceAndOfNoOther) {
  traces::StageRecord planned;
  planned.pieces = {{0, 4, 0, 4, traces::PieceMask::kTileMask, -1, 0}};
  traces::Event event;
  event.piece = traces::PieceIndex::of(0);
  event.mask = traces::PieceMask::kTileMask;
  event.q_end = event.k_end = 4;
  EXPECT_EQ(bandFor(event, &planned).pairs(), 7);
  EXPECT_EQ(bandFor(event, nullptr).pairs(), 16) << "its rows are all that is known";
  event.q_end = 3;
  EXPECT_EQ(bandFor(event, &planned).pairs(), 12) << "that piece has other rows";
}

TEST(MeantTest, TheMasksPairsBetweenAnyTwoChunksAreThoseThatItAllows) {
  for (const auto& [name, run] : test::allKindsOfRuns()) {
    test::RingRun small = run;
    small.keeps_tensors = false;
    small.steps = small.layers = 1;
    const auto trace = test::recordedTrace(small);
    const Meant meant(*trace, 0, {WorldRank::of(0)});
    const test::RingPlan plan(small);
    for (int q = 0; q < small.cp; ++q)
      for (int k = 0; k < small.cp; ++k)
        for (const auto& queries : plan.owned(q))
          for (const auto& keys : plan.owned(k)) {
            int allowed = 0;
            for (const auto query : test::RingPlan::tokensIn({queries}))
              for (const auto key : test::RingPlan::tokensIn({keys}))
                allowed += plan.allowed(query, key);
            EXPECT_EQ(meant.pairs(queries, keys), allowed) << name << ": " << q << " × " << k;
          }
  }
}

TEST(MeantTest, WithoutAnIntentItSaysThatItIsNotRecorded) {
  const traces::Trace nothing;
  const Meant meant(nothing, 0, {WorldRank::of(0)});
  EXPECT_EQ(meant.pairs({0, 4, 1}, {0, 4, 1}), std::nullopt);
  EXPECT_EQ(meant.tokenPosition(TokenIndex::of(3)), std::nullopt);
  EXPECT_NE(meant.positionsMissing().find("not recorded"), std::string::npos);
}

}  // namespace
}  // namespace ringscope::viz
