// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/plan/shard_layout.h"

namespace ringscope::traces {

/// Returns the tokens of each rank in a layout.
std::vector<std::vector<std::int64_t>> tokensByRank(const ShardLayout& layout);

/// The ids of whole sequences, which every rank embedded before it cut the embeddings, and the
/// targets of one rank's tokens: [rows, tokens] each.
struct WholeIds {
  const std::vector<std::int64_t>* ids = nullptr;
  const std::vector<std::int64_t>* targets = nullptr;
  std::int64_t rows = 0;
  std::int64_t ignored = -100;  ///< target of a token without one
};

/// Returns the tokens of each rank: those of the only layout in which each target is the id that
/// follows. Returns nothing when the ranks have different ids, or when no layout or several fit.
std::vector<std::vector<std::int64_t>> tokensOfWholeIds(const std::vector<WholeIds>& ranks);

}  // namespace ringscope::traces
