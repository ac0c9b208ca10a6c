// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// Some ranks of a communicator, in an order of their own; ranks here are places in that order.
class Group {
 public:
  /// `ranks` are those of `communicator`, this rank's among them.
  Group(Communicator& communicator, std::vector<GroupRank> ranks);

  GroupRank rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  /// A rank of this group as its communicator numbers it.
  GroupRank communicatorRank(GroupRank rank) const { return ranks_[rank.index()]; }

  /// As Communicator::exchange; reports name peers by their ranks in the communicator.
  Exchange exchange(std::vector<Outgoing> sends, std::vector<Incoming> receives,
                    Posting posting = Posting::kTogether) const;
  /// sends[r] to rank r and receives[r] from it; this rank's own part is copied. Undefined or empty
  /// tensors are parts that nobody sends.
  Exchange allToAll(const std::vector<at::Tensor>& sends,
                    const std::vector<at::Tensor>& receives) const;

 private:
  Communicator* communicator_;
  std::vector<GroupRank> ranks_;
  GroupRank rank_;
};

}  // namespace ringscope::engine
