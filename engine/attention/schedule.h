// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/attention/pieces.h"

namespace ringscope::engine {

/// How KV blocks travel round the ring.
enum class Rotate {
  kP2p,        ///< to the next rank, while the held block is attended
  kAllGather,  ///< all of them to all ranks at the first ring step (PyTorch's default)
  kAllToAll,   ///< one hop by an all-to-all in which only one part is not empty (PyTorch)
};
const char* name(Rotate rotate);
/// Throws usageError that lists the names.
Rotate parseRotate(const std::string& name);

/// In which order backward visits the blocks.
enum class Order {
  kDiagonalFirst,  ///< its own block first; dK and dV need a last hop home (PyTorch)
  kDiagonalLast,   ///< backwards from the block that forward held last, its own at the end, against
                   ///< the direction of forward; dK and dV end at home (Transformer Engine)
};
const char* name(Order order);
Order parseOrder(const std::string& name);

/// One ring step of one rank: which KV block it holds, and what it attends of it.
struct RingStage {
  int ring_step = 0;
  int source_rank = 0;
  std::vector<Piece> pieces;
  bool forwards_kv = false;  ///< the block goes on to `next_rank` while this step is attended
};

/// The stages of one rank of a ring group in one direction. Ranks are those of the group.
struct RingSchedule {
  int rank = 0;
  int next_rank = 0;  ///< where blocks go
  int previous_rank = 0;
  std::vector<RingStage> stages;

  std::int64_t work() const;  ///< (query, key) pairs that the rank attends
};

/// Pure functions of their arguments; no rank needs to ask another for its schedule. Forward begins
/// with the diagonal block; then blocks come from the previous rank.
RingSchedule ringSchedule(const ShardLayout& layout, const Mask& mask, int rank);
RingSchedule ringBackwardSchedule(const ShardLayout& layout, const Mask& mask, int rank,
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

}  // namespace ringscope::engine
