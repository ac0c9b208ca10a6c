// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// Some ranks of a communicator, in an order of their own; ranks here are places in that order.
class Group {
 public:
  /// `ranks` are those of `world`, this rank's among them.
  Group(Communicator& world, std::vector<int> ranks);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  /// The rank of `world` at a place of this group.
  int worldRank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  /// As Communicator::exchange; reports name peers by their ranks in `world`.
  Exchange exchange(std::vector<Outgoing> sends, std::vector<Incoming> receives) const;
  /// sends[r] to rank r and receives[r] from it; this rank's own part is copied. Undefined or empty
  /// tensors are parts that nobody sends.
  Exchange allToAll(const std::vector<at::Tensor>& sends,
                    const std::vector<at::Tensor>& receives) const;

 private:
  Communicator* world_;
  std::vector<int> ranks_;
  int rank_ = 0;
};

}  // namespace ringscope::engine
