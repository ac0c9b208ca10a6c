// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/kernel_work.h"

#include <algorithm>

#include "traces/format/schema/pieces.h"
#include "traces/plan/attended_pairs.h"
#include "traces/plan/mask.h"
#include "traces/plan/pieces_for.h"

namespace ringscope::traces {
namespace {

std::int64_t rowsPerTile(std::int64_t rows) {
  constexpr std::int64_t kMany = 768, kSome = 192;
  return rows >= kMany ? 256 : rows >= kSome ? 64 : 32;
}

/// Returns the pairs that one call computes: the rows of a causal square are computed with all keys
/// of the tiles that any of them attends.
std::int64_t computedPairs(const Piece& piece) {
  constexpr std::int64_t kKeys = 512;
  const std::int64_t rows = piece.q_end - piece.q_begin, keys = piece.k_end - piece.k_begin;
  if (piece.mask != PieceMask::kCausal) return rows * keys;
  const std::int64_t tile = rowsPerTile(rows);
  std::int64_t pairs = 0;
  for (std::int64_t row = 0; row < rows; row += tile) {
    const std::int64_t seen = std::min(keys, row + tile);
    pairs += std::min(tile, rows - row) * std::min(keys, (seen + kKeys - 1) / kKeys * kKeys);
  }
  return pairs;
}

/// Returns the work on the pieces of one block of `rows` queries. With `cuts` the engine cuts
/// causal squares (block_worker.h). A rank that shares its sequence with no other makes plain calls
/// (whole.h).
KernelWork workOnPieces(const std::vector<Piece>& pieces, std::int64_t rows, bool cuts,
                        Direction direction) {
  KernelWork work;
  for (const Piece& piece : pieces) {
    ++work.pieces;
    work.rows += piece.q_end - piece.q_begin;
    std::vector<Piece> parts{piece};
    if (cuts)
      parts = direction == Direction::kForward ? cutDiagonalIntoStrips(piece) : cutDiagonal(piece);
    for (const Piece& part : parts) work.pairs += computedPairs(part);
    work.calls += std::ssize(parts);
  }
  work.whole =
      pieces.size() == 1 && work.rows == rows && pieces.front().mask != PieceMask::kTileMask;
  return work;
}

}  // namespace

BlockWork kernelWork(const RunSpec& run, std::int32_t ulysses, Direction direction) {
  const ShardLayout layout =
      ShardLayout(run.seq_len, run.cp, plannableBalance(run)).joined(ulysses);
  const Mask mask = Mask::of(run);
  const bool cuts = run.device == Device::kCpu && run.cp > 1;
  BlockWork work;
  for (const GroupRank rank : everyRank(layout.cpSize())) {
    work.emplace_back();
    for (const GroupRank owner : everyRank(layout.cpSize()))
      work.back().push_back(workOnPieces(piecesFor(layout, mask, rank, owner), layout.localLength(),
                                         cuts, direction));
  }
  return work;
}

BlockWork singleCallWork(const RunSpec& run, std::int32_t ulysses) {
  const auto pairs = joinedPairs(attendedPairs(run), ulysses);
  BlockWork work(pairs.size());
  for (std::size_t ring = 0; ring < pairs.size(); ++ring)
    for (const std::int64_t attended : pairs[ring])
      work[ring].push_back(
          {attended, 1, 1, run.seq_len / static_cast<std::int64_t>(pairs.size()), true});
  return work;
}

}  // namespace ringscope::traces
