// SPDX-License-Identifier: Apache-2.0
// Index computations and schedules: pure functions, no tensors.
#include "engine/plan.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace ringscope::engine {
namespace {

TEST(ShardLayoutTest, HeadTailEqualsPyTorchsTables) {
  std::ifstream in(test::reference("sharding.json"));
  int compared = 0;
  for (const auto& row : nlohmann::json::parse(in)) {
    if (row["balance"] != "head_tail") continue;
    const ShardLayout layout(row["length"], row["cp_size"], Balance::kHeadTail);
    EXPECT_EQ(layout.rearrange(), row["indices"].get<std::vector<std::int64_t>>());
    EXPECT_EQ(layout.restore(), row["restore"].get<std::vector<std::int64_t>>());
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(ShardLayoutTest, ARankThatSharesNoHeadsKeepsTheBorderOfHeadAndTail) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped}) {
    const ShardLayout layout(48, 4, balance), alone = layout.joined(1);
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(alone.runs(GroupRank::of(rank)), layout.runs(GroupRank::of(rank))) << rank;
  }
}

TEST(ShardLayoutTest, EveryTokenHasOneOwner) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail})
    for (const int cp : {1, 2, 3, 4, 8}) {
      const ShardLayout layout(48, cp, balance);
      const auto order = layout.rearrange();
      EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 48u);
      const auto back = layout.restore();
      for (std::size_t g = 0; g < 48; ++g)
        EXPECT_EQ(order[static_cast<std::size_t>(back[g])], static_cast<std::int64_t>(g));
    }
}

TEST(ShardLayoutTest, ALengthThatDoesNotDivideIsRefusedWithOnesThatDo) {
  EXPECT_ERROR(ShardLayout(130, 4, Balance::kHeadTail), ErrorCode::kUsage, "such as 128 or 136");
  EXPECT_ERROR(ShardLayout(3, 4, Balance::kNone), ErrorCode::kUsage, "such as 4");
  EXPECT_ERROR(ShardLayout(0, 1, Balance::kNone), ErrorCode::kUsage, "such as 1");
  EXPECT_ERROR(ShardLayout(8, 0, Balance::kNone), ErrorCode::kUsage, "at least 1");
}

/// Counts how often ranks attend each (global query, global key) pair by their schedules. `cut`
/// cuts the pieces.
std::map<std::pair<std::int64_t, std::int64_t>, int> coverage(
    const ShardLayout& layout, const Mask& mask,
    const std::function<std::vector<Piece>(const Piece&)>& cut = cutDiagonal) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> count;
  for (const GroupRank rank : everyRank(layout.cpSize())) {
    const auto queries = layout.globalFromLocal(rank);
    for (const RingStage& stage : ringSchedule(layout, mask, rank).stages) {
      const auto keys = layout.globalFromLocal(stage.source_rank);
      for (const Piece& whole : stage.pieces)
        for (const Piece& p : cut(whole))
          for (auto q = p.q_begin; q < p.q_end; ++q)
            for (auto k = p.k_begin; k < p.k_end; ++k)
              if (p.allows(q, k))
                ++count[{queries[static_cast<std::size_t>(q)].value(),
                         keys[static_cast<std::size_t>(k)].value()}];
    }
  }
  return count;
}

/// Returns masks over 48 tokens; uneven documents cross shards and have padding around them.
std::vector<Mask> manyMasks() {
  std::vector<Mask> masks = {Mask::full(), Mask::causalMask()};
  for (const int window : {1, 2, 5, 17, 48}) masks.push_back(Mask::slidingWindow(window));
  masks.push_back(Mask::packed({0, 5, 7, 30, 48}, 48));
  masks.push_back({true, 0, {{0, 9}, {12, 13}, {20, 41}}});
  masks.push_back({true, 6, {{0, 9}, {12, 13}, {20, 48}}});
  masks.push_back({false, 0, {{0, 16}, {16, 40}}});
  return masks;
}

std::vector<ShardLayout> manyLayouts(int cp) {
  std::vector<ShardLayout> layouts;
  for (const auto each : {Balance::kNone, Balance::kHeadTail, Balance::kStriped, Balance::kPtrr})
    layouts.emplace_back(48, cp, each, std::vector<TokenRun>{{0, 37}, {37, 48}});
  if (48 % (4 * cp) == 0)
    layouts.emplace_back(48, cp, Balance::kPerDocument, std::vector<TokenRun>{{0, 24}, {24, 48}});
  return layouts;
}

TEST(PiecesTest, EveryMaskAndLayoutIsAttendedPairByPairExactlyOnce) {
  for (const int cp : {1, 2, 3, 4, 6, 8})
    for (const ShardLayout& whole : manyLayouts(cp))
      for (const int group : {1, 2})
        for (const Mask& mask : manyMasks()) {
          if (cp % group) continue;
          const ShardLayout layout = whole.joined(group);
          const auto count = coverage(layout, mask);
          for (std::int64_t q = 0; q < 48; ++q)
            for (std::int64_t k = 0; k < 48; ++k) {
              const auto found = count.find({q, k});
              const bool allowed = mask.allows(TokenIndex::of(q), TokenIndex::of(k));
              ASSERT_EQ(found == count.end() ? 0 : found->second, allowed ? 1 : 0)
                  << "query " << q << " key " << k << " cp " << cp << " joined " << group << " "
                  << name(layout.balance()) << " " << traces::name(mask.kind()) << " "
                  << mask.window;
            }
        }
}

TEST(PiecesTest, CutsOfACausalSquareCoverItOnceWhateverItsSize) {
  for (const std::int64_t length : {1, 63, 64, 65, 129, 256, 257, 300, 1031})
    for (const auto& cut : {cutDiagonal, cutDiagonalIntoStrips}) {
      const Piece square{0, length, 0, length, traces::PieceMask::kCausal, 0, 0};
      std::int64_t work = 0;
      for (const Piece& p : cut(square)) {
        EXPECT_FALSE(p.hasEmptyRow());
        work += p.work();
        if (p.mask != traces::PieceMask::kTileMask) continue;
        EXPECT_LE(p.q_end - p.q_begin, kTile);
        EXPECT_LE(p.k_end - p.k_begin, kTile);
      }
      EXPECT_EQ(work, square.work()) << length;
      const auto count = coverage(ShardLayout(length, 1, Balance::kNone), Mask::causalMask(), cut);
      EXPECT_EQ(count.size(), static_cast<std::size_t>(square.work())) << length;
    }
}

TEST(PiecesTest, ARowWithoutAKeyIsKnownFromTheBand) {
  const auto mask = traces::PieceMask::kTileMask;
  EXPECT_FALSE((Piece{0, 4, 0, 4, mask, -3, 0}).hasEmptyRow());
  EXPECT_TRUE((Piece{0, 4, 0, 4, mask, -3, -1}).hasEmptyRow()) << "row 0 sees earlier keys only";
  EXPECT_TRUE((Piece{0, 4, 0, 2, mask, 0, 0}).hasEmptyRow()) << "row 2's key lies behind";
  EXPECT_FALSE((Piece{0, 4, 0, 0, traces::PieceMask::kFull, 0, 0}).hasEmptyRow());
}

TEST(PiecesTest, TileMasksAreAtMostATileAndEmptyPiecesAreNotComputed) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
    for (const int window : {1, 7, 100, 1000}) {
      const ShardLayout layout(4096, 4, balance);
      std::int64_t work = 0;
      for (const GroupRank q : everyRank(4))
        for (const GroupRank k : everyRank(4))
          for (const Piece& p : piecesFor(layout, Mask::slidingWindow(window), q, k)) {
            EXPECT_GT(p.work(), 0);
            EXPECT_FALSE(p.hasEmptyRow()) << "it would be merged for nothing";
            work += p.work();
            if (p.mask != traces::PieceMask::kTileMask) continue;
            EXPECT_LE(p.q_end - p.q_begin, kTile);
            EXPECT_LE(p.k_end - p.k_begin, kTile);
          }
      EXPECT_EQ(work, 4096 * window - window * (window - 1) / 2);
    }
}

TEST(PiecesTest, StripedGivesEveryRankNearlyTheSameWorkUnderACausalMask) {
  const ShardLayout layout(1024, 8, Balance::kStriped);
  std::int64_t least = 1 << 30, most = 0;
  for (const GroupRank rank : everyRank(8)) {
    const auto work = ringSchedule(layout, Mask::causalMask(), rank).work();
    least = std::min(least, work);
    most = std::max(most, work);
  }
  EXPECT_LT(static_cast<double>(most) / static_cast<double>(least), 1.02);
}

TEST(ShardLayoutTest, PerDocumentDealsEachDocumentAsPyTorchsTablesDo) {
  std::ifstream in(test::reference("sharding.json"));
  int compared = 0;
  for (const auto& row : nlohmann::json::parse(in)) {
    if (row["balance"] != "per_document_head_tail") continue;
    std::vector<TokenRun> documents;
    std::int64_t length = 0;
    for (const std::int64_t size : row["documents"]) {
      documents.push_back({length, length + size});
      length += size;
    }
    const ShardLayout layout(length, row["cp_size"], Balance::kPerDocument, documents);
    // PyTorch's table is ordered by document; this layout is ordered by rank.
    std::vector<std::int64_t> by_document;
    for (std::size_t d = 0; d < documents.size(); ++d)
      for (const GroupRank rank : everyRank(layout.cpSize()))
        for (std::size_t half = 0; half < 2; ++half) {
          const ShardRun& run = layout.shard(rank)[2 * d + half];
          for (std::int64_t i = 0; i < run.count; ++i) by_document.push_back(run.global(i));
        }
    EXPECT_EQ(by_document, row["indices"].get<std::vector<std::int64_t>>());
    ++compared;
  }
  EXPECT_GT(compared, 3);
}

TEST(ShardLayoutTest, RejectsDocumentsThatCannotBeDealtWithAnAlternative) {
  EXPECT_ERROR(ShardLayout(16, 2, Balance::kPerDocument), ErrorCode::kUsage, "give cu_seqlens");
  EXPECT_ERROR(ShardLayout(16, 2, Balance::kPerDocument, {{0, 6}, {6, 16}}), ErrorCode::kUsage,
               "such as 4 or 8");
  try {
    ShardLayout(16, 2, Balance::kPerDocument, {{0, 6}, {6, 16}});
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("--pad"), std::string::npos)
        << "training has no such option: " << error.what();
  }
}

TEST(MaskTest, RejectsImpossibleCuSeqlens) {
  EXPECT_ERROR(Mask::packed({}, 8), ErrorCode::kUsage, "begins with 0");
  EXPECT_ERROR(Mask::packed({1, 8}, 8), ErrorCode::kUsage, "begins with 0");
  EXPECT_ERROR(Mask::packed({0, 5, 3}, 8), ErrorCode::kUsage, "must not fall");
  EXPECT_ERROR(Mask::packed({0, 9}, 8), ErrorCode::kUsage, "ends at 9");
  EXPECT_ERROR(Mask::slidingWindow(0), ErrorCode::kUsage, "at least 1 key");
  EXPECT_EQ(Mask::packed({0, 3, 3, 8}, 8).documents.size(), 2u) << "empty documents have no token";
}

TEST(PiecesTest, EveryPairOfTheMaskIsAttendedExactlyOnce) {
  for (const Mask& mask : {Mask::full(), Mask::causalMask()})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail})
      for (const int cp : {1, 2, 3, 4, 8}) {
        const ShardLayout layout(48, cp, balance);
        const auto count = coverage(layout, mask);
        EXPECT_EQ(count.size(), mask.isFull() ? 48u * 48 : 48u * 49 / 2);
        for (const auto& [pair, times] : count) {
          ASSERT_EQ(times, 1) << pair.first << " " << pair.second;
          ASSERT_TRUE(mask.isFull() || pair.second <= pair.first);
        }
      }
}

TEST(PiecesTest, LargeDiagonalsAreCutWithoutLosingAPair) {
  const auto count = coverage(ShardLayout(1024, 1, Balance::kNone), Mask::causalMask());
  EXPECT_EQ(count.size(), 1024u * 1025 / 2);
  for (const auto& [pair, times] : count) ASSERT_EQ(times, 1);
}

TEST(PiecesTest, HeadTailGivesEveryRankTheSameWork) {
  const ShardLayout balanced(64, 4, Balance::kHeadTail), plain(64, 4, Balance::kNone);
  std::set<std::int64_t> work;
  for (const GroupRank rank : everyRank(4))
    work.insert(ringSchedule(balanced, Mask::causalMask(), rank).work());
  EXPECT_EQ(work.size(), 1u);
  EXPECT_EQ(ringSchedule(plain, Mask::causalMask(), GroupRank::of(0)).work(), 16 * 17 / 2);
  EXPECT_EQ(ringSchedule(plain, Mask::causalMask(), GroupRank::of(3)).work(),
            16 * 17 / 2 + 3 * 16 * 16);
}

TEST(ScheduleTest, EveryBlockVisitsEveryRankAndTheLastHopIsSaved) {
  for (const int cp : {1, 2, 4, 8}) {
    const ShardLayout layout(32, cp, Balance::kNone);
    for (const GroupRank rank : everyRank(cp)) {
      const auto schedule = ringSchedule(layout, Mask::full(), rank);
      std::set<GroupRank> sources;
      int hops = 0;
      for (const auto& stage : schedule.stages)
        sources.insert(stage.source_rank), hops += stage.forwards_kv;
      EXPECT_EQ(schedule.stages.front().source_rank, rank) << "step 0 is local";
      EXPECT_EQ(static_cast<int>(sources.size()), cp);
      EXPECT_EQ(hops, expectedHops(false, Order::kDiagonalFirst, cp, 1).kv_forward);
    }
  }
}

TEST(ScheduleTest, DiagonalLastEndsAtHomeAgainstTheDirectionOfForward) {
  for (const int cp : {1, 2, 3, 8}) {
    const ShardLayout layout(48, cp, Balance::kNone);
    for (const GroupRank rank : everyRank(cp)) {
      const auto forward = ringSchedule(layout, Mask::full(), rank);
      const auto backward = ringBackwardSchedule(layout, Mask::full(), rank, Order::kDiagonalLast);
      EXPECT_EQ(backward.stages.back().source_rank, rank);
      EXPECT_EQ(backward.stages.front().source_rank, forward.stages.back().source_rank)
          << "forward ends with the block that backward begins with";
      EXPECT_EQ(backward.next_rank, forward.previous_rank);
      const auto from =
          ringBackwardSchedule(layout, Mask::full(), backward.previous_rank, Order::kDiagonalLast);
      for (std::size_t step = 1; step < backward.stages.size(); ++step)
        EXPECT_EQ(backward.stages[step].source_rank, from.stages[step - 1].source_rank);
    }
  }
}

TEST(ScheduleTest, ARankHoldsTheBlockThatItsNeighbourHeldBefore) {
  const ShardLayout layout(32, 4, Balance::kNone);
  for (const GroupRank rank : everyRank(4)) {
    const auto mine = ringSchedule(layout, Mask::full(), rank),
               theirs = ringSchedule(layout, Mask::full(), mine.previous_rank);
    for (std::size_t step = 1; step < 4; ++step)
      EXPECT_EQ(mine.stages[step].source_rank, theirs.stages[step - 1].source_rank);
  }
}

}  // namespace
}  // namespace ringscope::engine
