// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The recorded blocks of one layer's forward pass, merged again in fp64 over all ranks that share
/// the sequence. Works for every strategy: the recorded schedules name the heads and rows of
/// blocks. Without a schedule a block has all heads and the rank's own tokens.
struct LayerMerge {
  std::int64_t batch = 0, heads = 0, width = 0;
  std::vector<TokenIndex> tokens;  ///< ascending
  /// [batch, heads, tokens, width]: out as recorded; Σ exp(block_lse − lse)·block_out; Σ block_out.
  std::vector<double> out, weighted, plain;
  std::vector<int> blocks;  ///< [batch, heads, tokens]: number of blocks with a key for this row
  /// [batch, heads, tokens]: lse as recorded; Σ exp(block_lse − lse). The sum is 1 minus the share
  /// of an attention sink.
  std::vector<double> lse, share;

  /// Returns the index of the row's first element in out, weighted and plain.
  std::size_t row(std::int64_t batch_index, std::int64_t head, std::size_t token) const {
    return (static_cast<std::size_t>(batch_index * heads + head) * tokens.size() + token) *
           static_cast<std::size_t>(width);
  }
};

/// Merges a layer. `members` are the ranks that share the sequence. Returns nullopt when out, lse
/// or a block was not kept, or when they do not match each other. Throws inputError when values are
/// damaged.
std::optional<LayerMerge> mergeLayer(const Trace& trace, std::int32_t train_step, Layer layer,
                                     const std::vector<WorldRank>& members);

}  // namespace ringscope::traces
