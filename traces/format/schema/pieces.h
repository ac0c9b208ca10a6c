// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "traces/format/schema/records.h"
#include "traces/format/schema/schedule_record.h"

namespace ringscope::traces {

/// A rectangle of one (query shard, key block) pair that is attended in one call: local query rows
/// [q_begin, q_end) against local key rows [k_begin, k_end). Pieces of `kCausal` are square and lie
/// on the diagonal. Pieces of `kTileMask` hold the local keys i + band_low … i + band_high of row i
/// and are at most as large as a tile. Pairs outside of all pieces are never computed.
struct Piece : PieceRecord {
  friend bool operator==(const Piece&, const Piece&) = default;
  bool allows(std::int64_t q, std::int64_t k) const;
  /// Returns the number of (query, key) pairs attended.
  std::int64_t work() const;
  /// Reports whether a tile mask leaves a row without a key.
  bool hasEmptyRow() const;
};

/// The largest number of rows or columns of a tile mask.
inline constexpr std::int64_t kTile = 256;

/// The keys that a query may attend, by global token indices.
struct PieceRule {
  bool causal = false;      ///< only keys of its own and earlier indices
  std::int64_t window = 0;  ///< only the last `window` of these keys, its own included; 0: all
  /// Only keys of the query's own document; the documents are in ascending order. Tokens between
  /// documents attend nothing and are not attended. Empty: the sequence is one document.
  std::vector<TokenRun> documents;

  friend bool operator==(const PieceRule&, const PieceRule&) = default;
};

/// Returns the first and the end index, among the run's own tokens, of the part that lies in a
/// document.
std::pair<std::int64_t, std::int64_t> within(const ShardRun& run, const TokenRun& document);

/// Returns the pieces in which a shard of queries attends a shard of keys; none when the rule
/// leaves no pair. All runs must have the same stride. In local indices every rule is a band along
/// the diagonal. Let two runs begin at global q0 and k0 with stride s. Key j of query i is then
/// allowed when
///   j ≤ i + ⌊(q0 − k0)/s⌋ (causal) and j > i − (window − (q0 − k0))/s (window).
std::vector<Piece> piecesBetween(const std::vector<ShardRun>& queries,
                                 const std::vector<ShardRun>& keys, const PieceRule& rule);

/// Cuts a causal square into small causal squares and the full rectangles between them; returns
/// other pieces unchanged. ATen's kernel steps through keys 512 at a time. In a causal square of n
/// rows it therefore computes up to 256·n pairs that the mask drops. After the cut it computes far
/// fewer.
std::vector<Piece> cutDiagonal(const Piece& piece);

/// Cuts a causal square for forward, where each cut of a row costs a merge. Squares as large as a
/// tile are cut into strips of rows, each with all of its keys.
std::vector<Piece> cutDiagonalIntoStrips(const Piece& piece);

}  // namespace ringscope::traces
