// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "traces/analysis/verify/recompute/attention.h"

namespace ringscope::traces {

/// A key that a query row attends, as indices into the layer's tokens.
struct UsedKey {
  std::size_t values = 0;  ///< whose K and V are multiplied
  std::size_t target = 0;  ///< to whose dK and dV the gradients are added
};

/// The keys that a row attends in one call. Blocks of one stage have the same source.
struct KeyBlock {
  WorldRank source;
  std::vector<UsedKey> keys;
};
using KeyBlocks = std::vector<KeyBlock>;

/// One row: its query head within its (batch entry, KV head) group, and its index among the
/// selected rows.
struct BlockRow {
  std::int64_t group = 0, head = 0;
  std::size_t row = 0;
};

/// An attention that goes from block to block as a ring does, with or without a mistake.
struct BlockedAttention {
  /// kPlainSum adds outs without weights; kBaseTwo takes the blocks' log-sum-exps to base 2 as
  /// natural ones.
  enum class Merge { kWeighted, kPlainSum, kBaseTwo };

  std::function<KeyBlocks(const BlockRow&)> forward, backward;
  Merge merge = Merge::kWeighted;
  bool delta_of_stage = false;  ///< backward takes lse and delta of each source's keys alone
};

/// The results in fp64, shaped as attend() shapes them. `in`: of one KV head and any number of
/// batch entries; its mask is not asked. Only the forward results where it has no dout.
AttentionValues attendInBlocks(const AttentionInputs& in, const BlockedAttention& how);

}  // namespace ringscope::traces
