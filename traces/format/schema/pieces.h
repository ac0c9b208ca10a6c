// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "traces/format/schema/records.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// A rectangle of one (query shard, key block) pair that is attended in one call: local query rows
/// [q_begin, q_end) against local key rows [k_begin, k_end). `kCausal` pieces are square and lie
/// on the diagonal; `kTileMask` pieces hold the local keys i + band_low … i + band_high of row i
/// and are at most a tile's square; everything else of the pair is never computed.
struct Piece : PieceRecord {
  friend bool operator==(const Piece&, const Piece&) = default;
  bool allows(std::int64_t q, std::int64_t k) const;
  /// (query, key) pairs attended.
  std::int64_t work() const;
  /// Whether a tile mask leaves one of its rows without a key.
  bool hasEmptyRow() const;
};

/// No tile mask has more rows or columns.
inline constexpr std::int64_t kTile = 256;

/// Which keys a query may attend, by global token indices.
struct PieceRule {
  bool causal = false;      ///< keys of its own and earlier indices only
  std::int64_t window = 0;  ///< of those the last `window`, its own included; 0: all
  /// Keys of its own document only, in ascending order; tokens between documents attend nothing and
  /// are attended by nothing. Empty: the sequence is one document.
  std::vector<TokenRun> documents;

  friend bool operator==(const PieceRule&, const PieceRule&) = default;
};

/// The part of a run that lies in a document, from and to which of the run's own tokens.
std::pair<std::int64_t, std::int64_t> within(const ShardRun& run, const TokenRun& document);

/// The pieces in which a shard of queries attends a shard of keys; none when the rule leaves no
/// pair. All runs have the same stride. In local indices every rule is a band along the diagonal,
/// whatever the runs: for runs that begin at global q0 and k0 with stride s, key j of query i is
/// allowed when
///   j ≤ i + ⌊(q0 − k0)/s⌋ (causal) and j > i − (window − (q0 − k0))/s (window).
std::vector<Piece> piecesOf(const std::vector<ShardRun>& queries, const std::vector<ShardRun>& keys,
                            const PieceRule& rule);

/// A causal square cut into small causal squares and the full rectangles between them; other pieces
/// as they are. ATen's kernel steps through keys 512 at a time, so of a causal square of n rows it
/// computes up to 256·n pairs that the mask then drops; cut, it computes far fewer.
std::vector<Piece> cutDiagonal(const Piece& piece);

/// The same for forward, where each cut of a row costs a merge: squares of a tile are cut into
/// strips of rows instead, each with all of its keys.
std::vector<Piece> cutDiagonalIntoStrips(const Piece& piece);

}  // namespace ringscope::traces
