// SPDX-License-Identifier: Apache-2.0
#include "traces/format/schema/band.h"

#include <algorithm>

namespace ringscope::traces {

namespace {

/// Returns 1 + 2 + … of `terms` terms, each term at most `most`.
double sumUpTo(std::int64_t terms, std::int64_t most) {
  const auto rising = static_cast<double>(std::clamp<std::int64_t>(terms, 0, most));
  const auto flat = static_cast<double>(std::max<std::int64_t>(0, terms - most));
  return rising * (rising + 1) / 2 + flat * static_cast<double>(most);
}

/// Returns the number of pairs whose key − query is at most `high`.
double pairsUpTo(const Band& band, std::int64_t high) {
  const std::int64_t keys = band.k_end - band.k_begin, queries = band.q_end - band.q_begin;
  // Pairs of the first query; each following query has one pair more.
  const std::int64_t of_first = band.q_begin + high - band.k_begin + 1;
  return sumUpTo(of_first + queries - 1, keys) - sumUpTo(of_first - 1, keys);
}

bool isOf(const PieceRecord& piece, const Event& attend) {
  return piece.q_begin == attend.q_begin && piece.q_end == attend.q_end &&
         piece.k_begin == attend.k_begin && piece.k_end == attend.k_end &&
         piece.mask == attend.mask;
}

}  // namespace

Band Band::of(const PieceRecord& piece) {
  Band band{piece.q_begin, piece.q_end, piece.k_begin, piece.k_end};
  if (piece.mask == PieceMask::kCausal) band.high = piece.k_begin - piece.q_begin;
  if (piece.mask == PieceMask::kStrict) band.high = piece.k_begin - piece.q_begin - 1;
  if (piece.mask == PieceMask::kTileMask) {
    band.low = std::max(piece.band_low, -kUnbounded);
    band.high = std::min(piece.band_high, kUnbounded);
  }
  return band;
}

Band Band::within(std::int64_t q0, std::int64_t q1, std::int64_t k0, std::int64_t k1) const {
  return {std::max(q_begin, q0),
          std::min(q_end, q1),
          std::max(k_begin, k0),
          std::min(k_end, k1),
          low,
          high};
}

Band Band::both(const Band& other) const {
  Band band = within(other.q_begin, other.q_end, other.k_begin, other.k_end);
  band.low = std::max(low, other.low);
  band.high = std::min(high, other.high);
  return band;
}

Band Band::from(std::int64_t q0, std::int64_t k0) const {
  return {q_begin - q0, q_end - q0, k_begin - k0, k_end - k0, low - k0 + q0, high - k0 + q0};
}

bool Band::empty() const {
  if (q_begin >= q_end || k_begin >= k_end) return true;
  return std::max(low, k_begin - (q_end - 1)) > std::min(high, k_end - 1 - q_begin);
}

double Band::pairs() const {
  if (empty()) return 0;
  const std::int64_t lowest = k_begin - (q_end - 1), highest = k_end - 1 - q_begin;
  return pairsUpTo(*this, std::min(high, highest)) - pairsUpTo(*this, std::max(low, lowest) - 1);
}

Band bandFor(const Event& attend, const StageRecord* planned) {
  if (planned && attend.piece.exists() && attend.piece.index() < planned->pieces.size())
    if (const auto& piece = planned->pieces[attend.piece.index()]; isOf(piece, attend))
      return Band::of(piece);
  const PieceMask mask = attend.mask == PieceMask::kTileMask ? PieceMask::kFull : attend.mask;
  return Band::of({attend.q_begin, attend.q_end, attend.k_begin, attend.k_end, mask});
}

}  // namespace ringscope::traces
