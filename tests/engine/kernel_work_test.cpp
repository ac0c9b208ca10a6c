// SPDX-License-Identifier: Apache-2.0
// The planned work of kernels compared with the pieces for which the engine calls them.
#include "traces/plan/kernel_work.h"

#include <gtest/gtest.h>

#include "engine/plan.h"
#include "tests/engine/flash_calls.h"

namespace ringscope::engine {
namespace {

using traces::Direction;
using traces::KernelWork;
using traces::MaskKind;

void add(KernelWork& all, const Piece& piece, bool small_in_float) {
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  test::addCall(all, rows, keys, piece.mask == traces::PieceMask::kCausal,
                small_in_float && rows * keys <= 128 * 128);
}

/// Returns the work of the pieces of a block. A rank that shares its sequence with no other rank
/// cuts nothing and computes nothing in another type.
KernelWork workOf(const std::vector<Piece>& pieces, std::int64_t rows, Direction direction,
                  bool alone, bool narrow) {
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
      add(all, cut, narrow && !alone);
  }
  return all;
}

/// Compares the plan with the engine's pieces. `layout` is that of the ranks of a ring, which join
/// their shards.
void expectAsTheEngine(const traces::RunSpec& run, int ulysses, const ShardLayout& layout,
                       const std::string& words) {
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const auto planned = traces::kernelWork(run, ulysses, direction);
    ASSERT_EQ(planned.size(), static_cast<std::size_t>(layout.cpSize())) << words;
    for (const GroupRank rank : everyRank(layout.cpSize()))
      for (const GroupRank source : everyRank(layout.cpSize())) {
        const KernelWork engine =
            workOf(piecesFor(layout, Mask::of(run), rank, source), run.seq_len / layout.cpSize(),
                   direction, run.cp == 1, run.dtype != traces::DType::kFloat32);
        const KernelWork& plan = planned[rank.index()][source.index()];
        EXPECT_EQ(plan, engine) << words << ", " << name(direction) << ", rank " << rank.value()
                                << " of " << source.value() << ": " << plan.calls << " calls of "
                                << engine.calls << ", " << plan.pairs << " pairs of "
                                << engine.pairs << ", " << plan.tiles << " tiles of "
                                << engine.tiles << ", " << plan.small_pairs << " small pairs of "
                                << engine.small_pairs;
      }
  }
}

traces::RunSpec runWith(traces::DType dtype, int cp, std::int64_t length, std::int64_t window) {
  traces::RunSpec run;
  run.dtype = dtype;
  run.cp = cp;
  run.seq_len = length;
  run.mask = window < 0 ? MaskKind::kFull : window == 0 ? MaskKind::kCausal : MaskKind::kWindow;
  run.window = std::max<std::int64_t>(0, window);
  return run;
}

TEST(KernelWorkTest, EqualsTheWorkOfTheEnginesPieces) {
  for (const auto dtype : {traces::DType::kFloat32, traces::DType::kBFloat16})
    for (const int cp : {1, 2, 4})
      for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
        for (const std::int64_t length : {16, 256, 1024, 4096})
          for (const std::int64_t window : {-1, 0, 1, 7, 32, 200, 3000}) {
            traces::RunSpec run = runWith(dtype, cp, length, window);
            run.balance = balance;
            expectAsTheEngine(run, 1,
                              cp == 1 ? ShardLayout(length, 1, balance).joined(1)
                                      : ShardLayout(length, cp, balance),
                              std::string(name(balance)) + ", " + name(dtype) + ", cp " +
                                  std::to_string(cp) + ", length " + std::to_string(length) +
                                  ", window " + std::to_string(window));
          }
}

TEST(KernelWorkTest, RanksThatShareHeadsAttendTheirShardsTogether) {
  for (const auto dtype : {traces::DType::kFloat32, traces::DType::kBFloat16})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
      for (const std::int64_t window : {-1, 0, 1, 100, 700}) {
        traces::RunSpec run = runWith(dtype, 4, 2048, window);
        run.strategy = traces::Strategy::kHybrid;
        run.balance = balance;
        expectAsTheEngine(run, 2, ShardLayout(2048, 4, balance).joined(2),
                          std::string(name(balance)) + ", window " + std::to_string(window));
      }
}

TEST(KernelWorkTest, ARankThatSharesAllHeadsAttendsTheWholeSequence) {
  for (const std::int64_t window : {0, 100}) {
    traces::RunSpec run = runWith(traces::DType::kFloat32, 4, 1024, window);
    run.strategy = traces::Strategy::kUlysses;
    expectAsTheEngine(run, 4, ShardLayout(1024, 1, Balance::kNone), "ulysses");
  }
}

}  // namespace
}  // namespace ringscope::engine
