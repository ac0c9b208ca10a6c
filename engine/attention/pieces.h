// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "engine/sharding/shard_layout.h"
#include "traces/schema/event.h"

namespace ringscope::engine {

/// Which keys a query may attend.
enum class Mask {
  kFull,    ///< all of them
  kCausal,  ///< those of its own and earlier global indices
};
const char* name(Mask mask);

/// A rectangle of one (query shard, key block) pair that is attended in one call: local query rows
/// [q_begin, q_end) against local key rows [k_begin, k_end). `kCausal` pieces are square and lie
/// on the diagonal; everything else of the pair is never computed.
struct Piece {
  std::int64_t q_begin = 0, q_end = 0;
  std::int64_t k_begin = 0, k_end = 0;
  traces::PieceMask mask = traces::PieceMask::kFull;

  friend bool operator==(const Piece&, const Piece&) = default;
  /// (query, key) pairs attended.
  std::int64_t work() const;
};

/// The pieces in which `query_rank` attends the KV block of `source_rank`; none when the mask
/// empties the block. Pure; every strategy, work count and coverage check uses this list.
std::vector<Piece> piecesFor(const ShardLayout& layout, Mask mask, int query_rank, int source_rank);

/// A causal square cut into small causal squares and the full rectangles between them; other pieces
/// as they are. ATen's kernel steps through keys 512 at a time, so of a causal square of n rows it
/// computes up to 256·n pairs that the mask then drops; cut, it computes far fewer.
std::vector<Piece> cutDiagonal(const Piece& piece);

}  // namespace ringscope::engine
