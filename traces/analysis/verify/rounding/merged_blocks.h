// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/format/schema/pieces.h"

namespace ringscope::traces {

class ShardLayout;
struct Mask;

/// Sums over the merges of a row. S is the share of the row's weight that a merge leaves behind.
struct MergeSums {
  double squares = 1;  ///< Σ S²; at least 1
  double mixed = 0;    ///< Σ S(1 − S)
};

/// The blocks of keys that ranks attend one after another, and how often their results are added
/// up.
struct MergedBlocks {
  std::vector<std::size_t> block_of_key;  ///< block of each key
  std::size_t blocks = 1;                 ///< number of blocks
  std::vector<double> row_blocks;         ///< number of blocks that each query row attends
  std::vector<double> row_parts;          ///< number of partial results that make each query row
  std::vector<double> key_parts;          ///< number of partial gradients that make each key's

  /// Returns one block, as a single device has.
  static MergedBlocks whole(std::size_t length);
  /// Returns one block per rank of `layout`. Ranks that share heads count as one rank.
  static MergedBlocks of(const ShardLayout& layout, const Mask& mask);

  /// Counts the pieces in which a shard of queries attends the keys of one block. `queries` and
  /// `keys` are the indices of their tokens, by local row. Ignores pieces that leave the shard.
  void countPieces(std::span<const Piece> pieces, std::span<const std::size_t> queries,
                   std::span<const std::size_t> keys);

  /// Returns the blocks of some query rows and of some keys.
  MergedBlocks selected(std::span<const std::size_t> rows, std::span<const std::size_t> keys) const;

  /// Returns the sums over the merges of a row, whose keys from `first_key` on have these weights.
  /// The order of the merges is not used: the sums are those of the order that makes Σ S² largest.
  MergeSums sumsOver(std::size_t row, std::size_t first_key, std::span<const double> weights) const;
};

}  // namespace ringscope::traces
