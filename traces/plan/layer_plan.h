// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"
#include "traces/plan/ring_order.h"

namespace ringscope::traces {

/// The tensors of one message of attention.
enum class Cargo : std::uint8_t { kKv, kDkv, kQkvHeads, kOutHeads, kLseHeads, kGradHeads };

/// The ranks to which each rank of a cp group sends in one exchange.
enum class Receivers : std::uint8_t {
  kNextInRing,
  kPreviousInRing,
  kRestOfRing,  ///< all others of its ring, the nearest after the sender first
  kHeadSharers  ///< all others with which it shares heads, the nearest after the sender first
};

/// One action of attention in a layer. All ranks of a cp group do the same actions in the same
/// order, with other neighbours and other KV blocks.
struct LayerAction {
  enum class Kind : std::uint8_t {
    kPost,           ///< posts one message of `cargo` to each of `receivers`
    kWait,           ///< waits for the last posted exchange of `cargo`
    kAttend,         ///< attends the KV block number `count`, see blockOwner()
    kMergeGradients  ///< adds dK and dV of `count` blocks
  };
  Kind kind = Kind::kAttend;
  RingStep ring_step = RingStep::of(0);  ///< recordings show the action at this ring step
  Cargo cargo = Cargo::kKv;
  Receivers receivers = Receivers::kNextInRing;
  int count = 0;
};

/// The attention of one layer over the ranks of a cp group, for every strategy, rotation and order.
class LayerPlan {
 public:
  explicit LayerPlan(const RunSpec& run);

  /// The number of ranks that share heads.
  int ulysses() const { return ulysses_; }
  GroupRank ringRank(GroupRank rank) const { return HybridPlace::of(rank, ulysses_).in_ring; }

  std::vector<LayerAction> actions(Direction direction) const;
  std::vector<GroupRank> receivers(GroupRank rank, Receivers receivers) const;
  /// Returns the member of the ring whose KV block the rank attends as its n-th, from 0 on.
  GroupRank blockOwner(GroupRank rank, int nth, Direction direction) const;

 private:
  GroupRank ringMember(GroupRank rank, GroupRank ring_rank) const;
  RingOrder ringOrder(Direction direction) const;

  int ulysses_ = 1, rings_ = 1;
  bool gathers_ = false;       ///< all KV blocks arrive before any block is attended
  bool gathers_once_ = false;  ///< a ring whose KV blocks all travel at the first ring step
  bool shares_sequence_ = false;
  Order order_ = Order::kDiagonalFirst;
};

}  // namespace ringscope::traces
