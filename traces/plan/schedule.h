// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/plan/pieces_for.h"

namespace ringscope::traces {

/// One ring step of one rank: which KV block it holds, and what it attends of it.
struct RingStage {
  RingStep ring_step = RingStep::of(0);
  GroupRank source_rank = GroupRank::of(0);
  std::vector<Piece> pieces;
  bool forwards_kv = false;  ///< the block goes on to `next_rank` while this step is attended
};

/// The stages of one rank of a ring group in one direction. Ranks are those of the group.
struct RingSchedule {
  GroupRank rank = GroupRank::of(0);
  GroupRank next_rank = GroupRank::of(0);  ///< where blocks go
  GroupRank previous_rank = GroupRank::of(0);
  std::vector<RingStage> stages;

  std::int64_t work() const;  ///< (query, key) pairs that the rank attends
  /// Every stage attends the pieces that `mask` leaves of its block.
  void attendBy(const ShardLayout& layout, const Mask& mask);
};

/// Pure functions of their arguments; no rank needs to ask another for its schedule. Forward begins
/// with the diagonal block; then blocks come from the previous rank.
RingSchedule ringSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank);
RingSchedule ringBackwardSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank,
                                  Order order);

/// Messages that each rank sends in one layer.
struct ExpectedHops {
  int kv_forward = 0;
  int kv_backward = 0;
  int dkv_backward = 0;
  int heads_forward = 0;   ///< sequence ↔ heads: q, k, v there; out and lse back
  int heads_backward = 0;  ///< dout there; dq, dk, dv back
};

/// `ring` ranks round which KV goes, each of `ulysses` ranks that share heads.
///   strategy           kv_forward  kv_backward  dkv_backward
///   ring, any rotate   ring − 1    ring − 1     diagonal first: ring, last: ring − 1 (1 rank: 0)
///   all_gather         ring − 1    ring − 1     ring − 1
/// and 3 (forward) and 2 (backward) messages to each of the other ulysses − 1 ranks.
ExpectedHops expectedHops(bool all_gather, Order order, int ring, int ulysses);

}  // namespace ringscope::traces
