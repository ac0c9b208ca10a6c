// SPDX-License-Identifier: Apache-2.0
// The planned work of kernels, against the pieces in which the engine calls them.
#include "traces/plan/kernel_work.h"

#include <gtest/gtest.h>

#include "engine/plan.h"
#include "tests/engine/flash_calls.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::KernelWork;
using traces::MaskKind;

/// Returns the work on the pieces of a block as the engine calls kernels for them. A rank that
/// shares its sequence with no other cuts nothing.
KernelWork engineWork(const std::vector<Piece>& pieces, std::int64_t rows, Direction direction,
                      bool alone) {
  KernelWork all;
  all.whole = pieces.size() == 1 && pieces[0].mask != traces::PieceMask::kTileMask &&
              pieces[0].q_end - pieces[0].q_begin == rows;
  for (const Piece& piece : pieces) {
    const bool forward = direction == Direction::kForward;
    ++all.pieces;
    all.rows += piece.q_end - piece.q_begin;
    for (const Piece& cut : alone     ? std::vector{piece}
                            : forward ? cutDiagonalIntoStrips(piece)
                                      : cutDiagonal(piece))
      test::addCall(all, cut.q_end - cut.q_begin, cut.k_end - cut.k_begin,
                    cut.mask == traces::PieceMask::kCausal);
  }
  return all;
}

/// `layout`: of the ranks of a ring, each of which holds the shards of `ulysses` ranks.
void expectAsTheEngine(const traces::RunSpec& run, int ulysses, const ShardLayout& layout,
                       const std::string& words) {
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const auto planned = traces::kernelWork(run, ulysses, direction);
    ASSERT_EQ(planned.size(), static_cast<std::size_t>(layout.cpSize())) << words;
    for (const GroupRank rank : everyRank(layout.cpSize()))
      for (const GroupRank source : everyRank(layout.cpSize())) {
        const KernelWork engine = engineWork(piecesFor(layout, Mask::of(run), rank, source),
                                             run.seq_len / layout.cpSize(), direction, run.cp == 1);
        const KernelWork& plan = planned[rank.index()][source.index()];
        EXPECT_EQ(plan, engine) << words << ", " << name(direction) << ", rank " << rank.value()
                                << " of " << source.value() << ": " << plan.calls << " calls of "
                                << engine.calls << ", " << plan.pairs << " pairs of "
                                << engine.pairs;
      }
  }
}

traces::RunSpec runWith(int cp, std::int64_t length, std::int64_t window) {
  traces::RunSpec run;
  run.cp = cp;
  run.seq_len = length;
  run.mask = window < 0 ? MaskKind::kFull : window == 0 ? MaskKind::kCausal : MaskKind::kWindow;
  run.window = std::max<std::int64_t>(0, window);
  return run;
}

TEST(KernelWorkTest, IsThatOfTheEnginesPieces) {
  for (const int cp : {1, 2, 4})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
      for (const std::int64_t length : {16, 256, 1024, 4096})
        for (const std::int64_t window : {-1, 0, 1, 7, 32, 200, 3000}) {
          traces::RunSpec run = runWith(cp, length, window);
          run.balance = balance;
          expectAsTheEngine(run, 1,
                            cp == 1 ? ShardLayout(length, 1, balance).joined(1)
                                    : ShardLayout(length, cp, balance),
                            std::string(name(balance)) + ", cp " + std::to_string(cp) +
                                ", length " + std::to_string(length) + ", window " +
                                std::to_string(window));
        }
}

TEST(KernelWorkTest, RanksThatShareHeadsAttendTheirShardsTogether) {
  for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
    for (const std::int64_t window : {-1, 0, 1, 100, 700}) {
      traces::RunSpec run = runWith(4, 2048, window);
      run.strategy = traces::Strategy::kHybrid;
      run.balance = balance;
      expectAsTheEngine(run, 2, ShardLayout(2048, 4, balance).joined(2),
                        std::string(name(balance)) + ", window " + std::to_string(window));
    }
}

TEST(KernelWorkTest, RanksThatShareAllHeadsAttendTheWholeSequence) {
  for (const std::int64_t window : {0, 100}) {
    traces::RunSpec run = runWith(4, 1024, window);
    run.strategy = traces::Strategy::kUlysses;
    expectAsTheEngine(run, 4, ShardLayout(1024, 1, Balance::kNone), "ulysses");
  }
}

}  // namespace
}  // namespace ringscope::engine
