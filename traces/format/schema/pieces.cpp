// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/pieces.h"

#include <algorithm>
#include <utility>

#include "traces/format/core/floor_div.h"
#include "traces/format/schema/band.h"

namespace ringscope::traces {
namespace {

void add(std::vector<Piece>& pieces, std::int64_t q_begin, std::int64_t q_end, std::int64_t k_begin,
         std::int64_t k_end, PieceMask mask) {
  if (q_begin < q_end && k_begin < k_end)
    pieces.push_back({q_begin, q_end, k_begin, k_end, mask, 0, 0});
}

/// Cuts a band without a lower edge: full keys at the left, a causal square, full rows below.
void cutCausal(std::vector<Piece>& pieces, const Band& b) {
  // first row with a key
  const std::int64_t first = std::max(b.q_begin, b.k_begin - b.high);
  // first row that sees all keys
  const std::int64_t whole = std::clamp(b.k_end - b.high, first, b.q_end);
  const std::int64_t left = first + b.high;
  add(pieces, first, whole, b.k_begin, left, PieceMask::kFull);
  add(pieces, first, whole, left, left + (whole - first), PieceMask::kCausal);
  add(pieces, whole, b.q_end, b.k_begin, b.k_end, PieceMask::kFull);
}

/// Cuts a few rows of a band with a lower edge. Keys that all rows see become full pieces, and the
/// edges become tile masks.
void cutRows(std::vector<Piece>& pieces, const Band& b, std::int64_t begin, std::int64_t end) {
  const std::int64_t from = b.firstKey(begin), to = b.endKey(end - 1);
  if (from >= to) return;
  const std::int64_t full_from = std::max(from, b.firstKey(end - 1));
  const std::int64_t full_to = std::min(to, b.endKey(begin));
  auto tile = [&](std::int64_t k_begin, std::int64_t k_end) {
    // A row without any of these keys would still be merged, so it is left out.
    const std::int64_t first = std::max(begin, k_begin - b.high),
                       last = std::min(end, k_end - b.low);
    if (k_begin < k_end && first < last)
      pieces.push_back({first, last, k_begin, k_end, PieceMask::kTileMask, b.low, b.high});
  };
  if (full_from >= full_to) return tile(from, to);
  tile(from, full_from);
  add(pieces, begin, end, full_from, full_to, PieceMask::kFull);
  tile(full_to, to);
}

void cutBand(std::vector<Piece>& pieces, Band b) {
  if (b.low > b.high) return;
  // Rows without a key and keys without a row are left out first.
  b.q_begin = std::max(b.q_begin, b.k_begin - b.high);
  b.q_end = std::min(b.q_end, b.k_end - b.low);
  if (b.q_begin >= b.q_end) return;
  b.k_begin = std::max(b.k_begin, b.q_begin + b.low);
  b.k_end = std::min(b.k_end, b.q_end + b.high);
  if (b.k_begin >= b.k_end) return;
  const bool lower_edge = b.q_end - 1 + b.low > b.k_begin;
  if (!lower_edge) return cutCausal(pieces, b);
  // With both edges in one tile, the mask is as wide as the band. So half a tile of rows is taken
  // at a time.
  for (std::int64_t row = b.q_begin; row < b.q_end; row += kTile / 2)
    cutRows(pieces, b, row, std::min(b.q_end, row + kTile / 2));
}

/// Cuts one (query run, key run) pair. `q_at` and `k_at` are the first rows of the runs in their
/// shards.
void cutRunPair(std::vector<Piece>& pieces, const PieceRule& rule, const ShardRun& q,
                std::int64_t q_at, const ShardRun& k, std::int64_t k_at) {
  const std::int64_t shift = k_at - q_at, ahead = q.begin - k.begin;
  const std::int64_t high = rule.causal ? floorDiv(ahead, q.stride) + shift : Band::kUnbounded;
  const std::int64_t low =
      rule.window > 0 ? shift - floorDiv(rule.window - ahead - 1, q.stride) : -Band::kUnbounded;
  auto cut = [&](std::pair<std::int64_t, std::int64_t> rows,
                 std::pair<std::int64_t, std::int64_t> keys) {
    cutBand(pieces, {q_at + rows.first, q_at + rows.second, k_at + keys.first, k_at + keys.second,
                     low, high});
  };
  if (rule.documents.empty()) return cut({0, q.count}, {0, k.count});
  for (const TokenRun& document : rule.documents) {
    const auto rows = within(q, document), keys = within(k, document);
    if (rows.first < rows.second && keys.first < keys.second) cut(rows, keys);
  }
}

/// Joins neighbouring full pieces, first along the keys, then along the queries, which makes fewer
/// and larger calls.
std::vector<Piece> joined(std::vector<Piece> pieces) {
  auto join_along = [&](auto extend) {
    std::vector<Piece> result;
    for (const Piece& piece : pieces)
      if (result.empty() || !extend(result.back(), piece)) result.push_back(piece);
    pieces = std::move(result);
  };
  auto both_full = [](const Piece& a, const Piece& b) {
    return a.mask == PieceMask::kFull && b.mask == PieceMask::kFull;
  };
  join_along([&](Piece& last, const Piece& next) {
    const bool fits = both_full(last, next) && last.q_begin == next.q_begin &&
                      last.q_end == next.q_end && last.k_end == next.k_begin;
    if (fits) last.k_end = next.k_end;
    return fits;
  });
  join_along([&](Piece& last, const Piece& next) {
    const bool fits = both_full(last, next) && last.k_begin == next.k_begin &&
                      last.k_end == next.k_end && last.q_end == next.q_begin;
    if (fits) last.q_end = next.q_end;
    return fits;
  });
  return pieces;
}

/// Cuts a causal square into causal squares of at most `largest` rows and the rectangles between
/// them.
std::vector<Piece> halved(const Piece& piece, std::int64_t largest) {
  const std::int64_t rows = piece.q_end - piece.q_begin;
  if (piece.mask != PieceMask::kCausal || rows <= largest) return {piece};
  const std::int64_t q = piece.q_begin + rows / 2, k = piece.k_begin + rows / 2;
  std::vector<Piece> cut =
      halved({piece.q_begin, q, piece.k_begin, k, PieceMask::kCausal, 0, 0}, largest);
  cut.push_back({q, piece.q_end, piece.k_begin, k, PieceMask::kFull, 0, 0});
  const auto lower = halved({q, piece.q_end, k, piece.k_end, PieceMask::kCausal, 0, 0}, largest);
  cut.insert(cut.end(), lower.begin(), lower.end());
  return cut;
}

bool ascending(const std::vector<ShardRun>& runs) {
  return std::adjacent_find(runs.begin(), runs.end(), [](const ShardRun& a, const ShardRun& b) {
           return a.global(a.count - 1) >= b.begin;
         }) == runs.end();
}

}  // namespace

std::pair<std::int64_t, std::int64_t> within(const ShardRun& run, const TokenRun& document) {
  const std::int64_t first = -floorDiv(run.begin - document.begin, run.stride);
  const std::int64_t end = -floorDiv(run.begin - document.end, run.stride);
  return {std::clamp<std::int64_t>(first, 0, run.count),
          std::clamp<std::int64_t>(end, 0, run.count)};
}

bool Piece::allows(std::int64_t q, std::int64_t k) const {
  const Band band = Band::of(*this);
  return q >= q_begin && q < q_end && k >= band.firstKey(q) && k < band.endKey(q);
}

std::int64_t Piece::work() const {
  return static_cast<std::int64_t>(Band::of(*this).pairs());
}

bool Piece::hasEmptyRow() const {
  if (mask != PieceMask::kTileMask) return false;
  const Band band = Band::of(*this);
  for (std::int64_t q = q_begin; q < q_end; ++q)
    if (band.firstKey(q) >= band.endKey(q)) return true;
  return false;
}

std::vector<Piece> cutDiagonal(const Piece& piece) {
  return halved(piece, kTile - 1);
}

std::vector<Piece> cutDiagonalIntoStrips(const Piece& piece) {
  constexpr std::int64_t kStrip = kTile / 4;
  std::vector<Piece> cut;
  for (const Piece& part : halved(piece, kTile)) {
    if (part.mask != PieceMask::kCausal) {
      cut.push_back(part);
      continue;
    }
    const std::int64_t shift = part.k_begin - part.q_begin;
    for (std::int64_t row = part.q_begin; row < part.q_end; row += kStrip) {
      const std::int64_t end = std::min(part.q_end, row + kStrip);
      const auto mask = row == part.q_begin ? PieceMask::kCausal : PieceMask::kTileMask;
      cut.push_back({row, end, part.k_begin, end + shift, mask, part.k_begin - end, shift});
    }
  }
  return cut;
}

std::vector<Piece> piecesBetween(const std::vector<ShardRun>& queries,
                                 const std::vector<ShardRun>& keys, const PieceRule& rule) {
  // A rank's own tokens in global order form one causal square, whatever the runs are.
  if (rule == PieceRule{true, 0, {}} && queries == keys && ascending(queries)) {
    std::int64_t size = 0;
    for (const ShardRun& run : queries) size += run.count;
    return {{{0, size, 0, size, PieceMask::kCausal, 0, 0}}};
  }
  std::vector<Piece> pieces;
  std::int64_t q_at = 0;
  for (const ShardRun& q : queries) {
    std::int64_t k_at = 0;
    for (const ShardRun& k : keys) {
      cutRunPair(pieces, rule, q, q_at, k, k_at);
      k_at += k.count;
    }
    q_at += q.count;
  }
  return joined(std::move(pieces));
}

}  // namespace ringscope::traces
