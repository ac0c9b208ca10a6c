// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/plan/pieces_for.h"

namespace ringscope::traces {

/// One ring step of one rank: the source of the KV block that the rank holds, and the pieces that
/// it attends.
struct RingStage {
  RingStep ring_step = RingStep::of(0);
  GroupRank source_rank = GroupRank::of(0);
  std::vector<Piece> pieces;
  bool forwards_kv = false;  ///< the block is sent to `next_rank` while this step is attended
};

/// The stages of one rank of a ring group in one direction. Ranks are those of the group.
struct RingSchedule {
  GroupRank rank = GroupRank::of(0);
  GroupRank next_rank = GroupRank::of(0);  ///< rank that blocks are sent to
  GroupRank previous_rank = GroupRank::of(0);
  std::vector<RingStage> stages;

  std::int64_t work() const;  ///< returns the number of (query, key) pairs that the rank attends
  /// Sets the pieces of every stage to those that `mask` leaves of its block.
  void attendBy(const ShardLayout& layout, const Mask& mask);
};

/// Return the schedule of one rank, forward and backward. Pure functions of their arguments, so no
/// rank asks another for its schedule. Forward begins with the diagonal block; further blocks come
/// from the previous rank.
RingSchedule ringSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank);
RingSchedule ringBackwardSchedule(const ShardLayout& layout, const Mask& mask, GroupRank rank,
                                  Order order);

/// The number of messages that each rank sends in one layer.
struct ExpectedHops {
  int kv_forward = 0;
  int kv_backward = 0;
  int dkv_backward = 0;
  int heads_forward = 0;   ///< sequence → heads: q, k, v; heads → sequence: out and lse
  int heads_backward = 0;  ///< sequence → heads: dout; heads → sequence: dq, dk, dv
};

/// Returns the messages per rank. KV travels round `ring` groups, each of `ulysses` ranks that
/// share heads.
///   Strategy           kv_forward  kv_backward  dkv_backward.
///   Ring, any rotate:  ring − 1    ring − 1     diagonal first: ring, last: ring − 1 (1 rank: 0).
///   All-gather:        ring − 1    ring − 1     ring − 1.
/// In addition each rank sends 3 (forward) and 2 (backward) messages to each of the other ulysses −
/// 1 ranks.
ExpectedHops expectedHops(bool all_gather, Order order, int ring, int ulysses);

}  // namespace ringscope::traces
