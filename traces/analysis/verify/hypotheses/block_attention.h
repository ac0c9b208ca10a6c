// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/attention.h"

namespace ringscope::traces {

/// The target of gradients that are lost.
inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

/// A key that a query row attends, as indices into the layer's tokens.
struct UsedKey {
  std::size_t values = 0;  ///< whose K and V are multiplied
  std::size_t target = 0;  ///< to whose dK and dV the gradients are added; or kNowhere
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
  /// The merge of blocks.
  /// - kPlainSum: adds outs without weights.
  /// - kMean: divides that sum by `divisor`.
  /// - kBaseTwo: takes the blocks' log-sum-exps to base 2 as natural ones.
  /// - kPowersOfTwo: takes natural log-sum-exps as those to base 2.
  enum class Merge { kWeighted, kPlainSum, kMean, kBaseTwo, kPowersOfTwo };
  using Round = double (*)(double);

  std::function<KeyBlocks(const BlockRow&)> forward, backward;
  Merge merge = Merge::kWeighted;
  /// Backward takes delta or lse of each source's keys alone.
  bool delta_of_stage = false, lse_of_stage = false;
  double divisor = 1;
  Round round_out = nullptr, round_lse = nullptr;  ///< of the running result; null: none
  /// Other q, k and v for each query head, forward only: [groups, heads, rows or keys, width];
  /// empty: those of the inputs.
  std::vector<double> q{}, k{}, v{};
  std::string how{};  ///< the mistake in particular, as the end of a sentence; empty: it has one
                      ///< form

  bool may_be_meant = false;  ///< a right job can be made so

  bool isForwardOnly() const { return !q.empty() || !k.empty(); }
};

/// The results in fp64, shaped as attend() shapes them. `in`: of one KV head and any number of
/// batch entries; its mask is not asked. Only the forward results where it has no dout.
AttentionValues attendInBlocks(const AttentionInputs& in, const BlockedAttention& how);

}  // namespace ringscope::traces
