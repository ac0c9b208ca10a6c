// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Reports whether a shard is a rank's part of the sequence itself: its token ids, or the queries
/// of one attention.
inline bool isOfTokens(const ShardRecord& shard) {
  return shard.buffer == "input_ids" || shard.buffer == "q";
}

/// Returns the length of a shape along the dimension in which a shard was cut; nullopt when the
/// shape does not have that dimension.
inline std::optional<std::int64_t> lengthAlongCut(const ShardRecord& shard,
                                                  const std::vector<std::int64_t>& shape) {
  const auto dim = static_cast<std::size_t>(shard.seq_dim);
  if (shard.seq_dim < 0 || dim >= shape.size()) return std::nullopt;
  return shape[dim];
}

/// Returns the number of rows that a rank has, and that the whole buffer has.
inline std::optional<std::int64_t> localLength(const ShardRecord& shard) {
  return lengthAlongCut(shard, shard.local_shape);
}
inline std::optional<std::int64_t> fullLength(const ShardRecord& shard) {
  return lengthAlongCut(shard, shard.full_shape);
}

/// Returns the tokens of a shard; none when its runs are not of as many tokens as it has rows.
inline std::vector<TokenIndex> allTokens(const ShardRecord& shard) {
  const auto length =
      static_cast<std::size_t>(std::max<std::int64_t>(0, localLength(shard).value_or(0)));
  std::vector<TokenIndex> tokens = tokensIn(shard, length + 1);
  if (tokens.size() != length) tokens.clear();
  return tokens;
}

}  // namespace ringscope::traces
