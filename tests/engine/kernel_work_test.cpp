// SPDX-License-Identifier: Apache-2.0
// What a plan says that kernels do, against the pieces in which the engine calls them.
#include <gtest/gtest.h>

#include "engine/attention/schedule.h"
#include "traces/clock/attended_pairs.h"

namespace ringscope::engine {
namespace {

using traces::KernelWork;
using traces::MaskKind;

/// Row by row, as PyTorch's flash kernel for CPUs goes through a piece.
std::int64_t computedPairs(const Piece& piece) {
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  if (piece.mask != traces::PieceMask::kCausal) return rows * keys;
  const std::int64_t part = rows >= 768 ? 256 : rows >= 192 ? 64 : 32;
  std::int64_t pairs = 0;
  for (std::int64_t row = 0; row < rows; ++row) pairs += std::min(keys, (row / part + 1) * part);
  return pairs;
}

/// `layout`: of the ranks of a ring, which hold their shards together.
void expectAsTheEngine(const traces::RunSpec& run, int ulysses, const ShardLayout& layout,
                       const std::string& words) {
  const auto planned = traces::kernelWork(run, ulysses);
  ASSERT_EQ(planned.size(), static_cast<std::size_t>(layout.cpSize())) << words;
  for (const GroupRank rank : everyRank(layout.cpSize()))
    for (const GroupRank source : everyRank(layout.cpSize())) {
      const auto pieces = piecesFor(layout, Mask::of(run), rank, source);
      std::int64_t pairs = 0;
      for (const Piece& piece : pieces) pairs += computedPairs(piece);
      const KernelWork& work = planned[rank.index()][source.index()];
      EXPECT_EQ(work.pairs, pairs)
          << words << ", rank " << rank.value() << " of " << source.value();
      EXPECT_GE(work.calls, std::ssize(pieces)) << words << ": neighbours may be joined";
      EXPECT_LE(work.calls, 2 * std::ssize(pieces)) << words;
    }
}

TEST(KernelWorkTest, IsThatOfTheEnginesPieces) {
  for (const int cp : {1, 2, 4})
    for (const Balance balance : {Balance::kNone, Balance::kHeadTail, Balance::kStriped})
      for (const std::int64_t length : {16, 256, 1024, 4096})
        for (const std::int64_t window : {-1, 0, 1, 7, 32, 200, 3000}) {
          traces::RunSpec run;
          run.cp = cp;
          run.balance = balance;
          run.seq_len = length;
          run.mask = window < 0    ? MaskKind::kFull
                     : window == 0 ? MaskKind::kCausal
                                   : MaskKind::kWindow;
          run.window = std::max<std::int64_t>(0, window);
          expectAsTheEngine(run, 1, ShardLayout(length, cp, balance),
                            std::string(name(balance)) + ", cp " + std::to_string(cp) +
                                ", length " + std::to_string(length) + ", window " +
                                std::to_string(window));
        }
}

TEST(KernelWorkTest, WhoSharesAllHeadsAttendsTheWholeSequence) {
  for (const std::int64_t window : {0, 100}) {
    traces::RunSpec run;
    run.cp = 4;
    run.seq_len = 1024;
    run.strategy = traces::Strategy::kUlysses;
    run.mask = window == 0 ? MaskKind::kCausal : MaskKind::kWindow;
    run.window = window;
    expectAsTheEngine(run, 4, ShardLayout(1024, 1, Balance::kNone), "ulysses");
  }
}

}  // namespace
}  // namespace ringscope::engine
