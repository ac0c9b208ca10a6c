// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/attention/pieces.h"

namespace ringscope::engine {

/// One ring step of one rank: which KV block it holds, and what it attends of it.
struct RingStage {
  int ring_step = 0;
  int source_rank = 0;
  std::vector<Piece> pieces;
  bool forwards_kv = false;  ///< the block goes on to the next rank while this step is attended
};

/// The stages of one rank, the same in both directions: the diagonal block first, then the blocks
/// as they arrive from the previous rank (PyTorch's order).
struct RingSchedule {
  int rank = 0;
  int next_rank = 0;
  int previous_rank = 0;
  std::vector<RingStage> stages;

  std::int64_t work() const;  ///< (query, key) pairs that the rank attends
};

/// Pure function of its arguments; no rank needs to ask another for its schedule.
RingSchedule ringSchedule(const ShardLayout& layout, Mask mask, int rank);

/// Hops of each rank in one layer, diagonal first, rotate p2p.
struct ExpectedHops {
  int kv_forward = 0;    ///< cp − 1: the block that was attended last goes nowhere
  int kv_backward = 0;   ///< cp − 1
  int dkv_backward = 0;  ///< cp: the last one brings dK, dV home; 0 when there is no ring
};
ExpectedHops expectedHops(int cp_size);

}  // namespace ringscope::engine
