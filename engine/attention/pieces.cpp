// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/pieces.h"

namespace ringscope::engine {

using traces::PieceMask;

namespace {

/// Pieces of one (query run, key run) pair each. Runs of one layout are aligned and equally long,
/// so a pair is before, on or after the diagonal and nothing between.
std::vector<Piece> piecesPerRun(const ShardLayout& layout, Mask mask, int query_rank,
                                int source_rank) {
  std::vector<Piece> pieces;
  std::int64_t q = 0;
  for (const TokenRun& q_run : layout.runs(query_rank)) {
    const std::int64_t size = q_run.end - q_run.begin;
    std::int64_t k = 0;
    for (const TokenRun& k_run : layout.runs(source_rank)) {
      const bool diagonal = mask == Mask::kCausal && k_run == q_run;
      if (mask == Mask::kFull || diagonal || k_run.begin < q_run.begin)
        pieces.push_back(
            {q, q + size, k, k + size, diagonal ? PieceMask::kCausal : PieceMask::kFull});
      k += size;
    }
    q += size;
  }
  return pieces;
}

/// Joins full neighbours, first along the keys, then along the queries: fewer, larger calls.
std::vector<Piece> joined(std::vector<Piece> pieces) {
  auto joinAlong = [&](auto extend) {
    std::vector<Piece> result;
    for (const Piece& piece : pieces)
      if (result.empty() || !extend(result.back(), piece)) result.push_back(piece);
    pieces = std::move(result);
  };
  auto bothFull = [](const Piece& a, const Piece& b) {
    return a.mask == PieceMask::kFull && b.mask == PieceMask::kFull;
  };
  joinAlong([&](Piece& last, const Piece& next) {
    const bool fits = bothFull(last, next) && last.q_begin == next.q_begin &&
                      last.q_end == next.q_end && last.k_end == next.k_begin;
    if (fits) last.k_end = next.k_end;
    return fits;
  });
  joinAlong([&](Piece& last, const Piece& next) {
    const bool fits = bothFull(last, next) && last.k_begin == next.k_begin &&
                      last.k_end == next.k_end && last.q_end == next.q_begin;
    if (fits) last.q_end = next.q_end;
    return fits;
  });
  return pieces;
}

}  // namespace

const char* name(Mask mask) {
  return mask == Mask::kFull ? "full" : "causal";
}

std::int64_t Piece::work() const {
  const std::int64_t rows = q_end - q_begin;
  if (mask == PieceMask::kCausal) return rows * (rows + 1) / 2;
  if (mask == PieceMask::kStrict) return rows * (rows - 1) / 2;
  return rows * (k_end - k_begin);
}

std::vector<Piece> cutDiagonal(const Piece& piece) {
  constexpr std::int64_t kSmallestCut = 256;
  const std::int64_t rows = piece.q_end - piece.q_begin;
  if (piece.mask != PieceMask::kCausal || rows < kSmallestCut || rows % 2 != 0) return {piece};
  const std::int64_t q = piece.q_begin + rows / 2, k = piece.k_begin + rows / 2;
  std::vector<Piece> cut = cutDiagonal({piece.q_begin, q, piece.k_begin, k, PieceMask::kCausal});
  cut.push_back({q, piece.q_end, piece.k_begin, k, PieceMask::kFull});
  const auto lower = cutDiagonal({q, piece.q_end, k, piece.k_end, PieceMask::kCausal});
  cut.insert(cut.end(), lower.begin(), lower.end());
  return cut;
}

std::vector<Piece> piecesFor(const ShardLayout& layout, Mask mask, int query_rank,
                             int source_rank) {
  // A rank's own tokens are in global order, so its own block is one causal square whatever the
  // runs.
  if (mask == Mask::kCausal && query_rank == source_rank) {
    const std::int64_t size = layout.localLength();
    return {{0, size, 0, size, PieceMask::kCausal}};
  }
  return joined(piecesPerRun(layout, mask, query_rank, source_rank));
}

}  // namespace ringscope::engine
