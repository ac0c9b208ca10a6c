// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention/mask.h"
#include "traces/schema/event.h"
#include "traces/schema/schedule_record.h"

namespace ringscope::engine {

/// A rectangle of one (query shard, key block) pair that is attended in one call: local query rows
/// [q_begin, q_end) against local key rows [k_begin, k_end). `kCausal` pieces are square and lie
/// on the diagonal; `kTileMask` pieces hold the local keys i + band_low … i + band_high of row i
/// and are at most a tile's square; everything else of the pair is never computed.
struct Piece {
  std::int64_t q_begin = 0, q_end = 0;
  std::int64_t k_begin = 0, k_end = 0;
  traces::PieceMask mask = traces::PieceMask::kFull;
  std::int64_t band_low = 0, band_high = 0;  ///< kTileMask only: key − query, both included

  friend bool operator==(const Piece&, const Piece&) = default;
  bool allows(std::int64_t q, std::int64_t k) const;
  /// (query, key) pairs attended.
  std::int64_t work() const;
  /// Whether a tile mask leaves one of its rows without a key.
  bool hasEmptyRow() const;
};

/// No tile mask has more rows or columns.
inline constexpr std::int64_t kTile = 256;

/// The pieces in which `query_rank` attends the KV block of `source_rank`; none when the mask
/// empties the block. Pure; every strategy, work count and coverage check uses this list. In local
/// indices every mask is a band along the diagonal, whatever the layout: for runs that begin at
/// global q0 and k0 with stride s, key j of query i is allowed when
///   j ≤ i + ⌊(q0 − k0)/s⌋ (causal) and j > i − (window − (q0 − k0))/s (window).
std::vector<Piece> piecesFor(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                             GroupRank source_rank);

/// Why `query_rank` attends nothing of the KV block of `source_rank`; kAttends when it attends
/// something. Pure.
traces::WhyEmpty whyEmpty(const ShardLayout& layout, const Mask& mask, GroupRank query_rank,
                          GroupRank source_rank);

/// A causal square cut into small causal squares and the full rectangles between them; other pieces
/// as they are. ATen's kernel steps through keys 512 at a time, so of a causal square of n rows it
/// computes up to 256·n pairs that the mask then drops; cut, it computes far fewer.
std::vector<Piece> cutDiagonal(const Piece& piece);

/// The same for forward, where each cut of a row costs a merge: squares of a tile are cut into
/// strips of rows instead, each with all of its keys.
std::vector<Piece> cutDiagonalIntoStrips(const Piece& piece);

}  // namespace ringscope::engine
