// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/plan.h"

namespace ringscope::engine {

/// Sums over the merges of each row, [B, H, rows]. S is the share of the row's weight that a merge
/// leaves behind.
struct MergeSums {
  at::Tensor squares;  ///< Σ S²; at least 1
  at::Tensor mixed;    ///< Σ S(1 − S)
};

/// The blocks of keys that ranks attend one after another in a sequence of S tokens, and how often
/// their results are added up.
struct MergedBlocks {
  at::Tensor of_keys;     ///< [S, blocks], fp32: 1 where the key belongs to the block
  at::Tensor row_blocks;  ///< [S], fp32: blocks that a query row attends
  at::Tensor row_parts;   ///< [S], fp32: partial results that make a query row
  at::Tensor key_parts;   ///< [S], fp32: partial gradients that make a key's

  /// One block, as one device has.
  static MergedBlocks whole(std::int64_t length);
  /// A block per rank of `layout`. Ranks that share heads count as one rank.
  static MergedBlocks of(const ShardLayout& layout, const Mask& mask);

  /// For weights [B, H, rows, S] of the rows from `first_row` on. The order of the merges is not
  /// used: sums are those of the order that makes Σ S² largest.
  MergeSums sumsOver(const at::Tensor& weights, std::int64_t first_row) const;
};

}  // namespace ringscope::engine
