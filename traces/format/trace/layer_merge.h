// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The recorded blocks of one layer's forward pass merged again in fp64, over all ranks that share
/// the sequence, whatever the strategy: blocks are of the heads and rows that the recorded
/// schedules name (all heads and the rank's own tokens where there is no schedule).
struct LayerMerge {
  std::int64_t batch = 0, heads = 0, width = 0;
  std::vector<TokenIndex> tokens;  ///< ascending
  /// [batch, heads, tokens, width]: as recorded; Σ exp(block_lse − lse)·block_out; Σ block_out.
  std::vector<double> out, weighted, plain;
  std::vector<int> blocks;  ///< [batch, heads, tokens]: that hold a key for this row
  /// [batch, heads, tokens]: lse as recorded; Σ exp(block_lse − lse), which is 1 but for what an
  /// attention sink takes of the row.
  std::vector<double> lse, share;

  /// The row's first element in out, weighted and plain.
  std::size_t row(std::int64_t batch_index, std::int64_t head, std::size_t token) const {
    return (static_cast<std::size_t>(batch_index * heads + head) * tokens.size() + token) *
           static_cast<std::size_t>(width);
  }
};

/// `members`: the ranks that share the sequence. Nothing when out, lse or a block was not kept, or
/// they do not fit each other. Throws inputError when values are damaged.
std::optional<LayerMerge> mergeLayer(const Trace& trace, std::int32_t train_step, Layer layer,
                                     const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
