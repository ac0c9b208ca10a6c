// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/transport/communicator.h"

namespace ringscope::engine {

/// Some ranks of a communicator in an order of their own. Ranks of the group are indices into that
/// order.
class Group {
 public:
  /// Makes a group. `ranks` are ranks of `communicator` and include this rank.
  Group(Communicator& communicator, std::vector<GroupRank> ranks);

  GroupRank rank() const { return rank_; }
  int size() const { return static_cast<int>(ranks_.size()); }
  /// Returns the communicator's number of a rank of this group.
  GroupRank communicatorRank(GroupRank rank) const { return ranks_[rank.index()]; }

  /// Posts messages like Communicator::exchange. Reports name peers by their ranks in the
  /// communicator.
  Exchange exchange(std::vector<Outgoing> sends, std::vector<Incoming> receives,
                    Posting posting = Posting::kTogether) const;
  /// Sends sends[r] to rank r and receives receives[r] from it. This rank's own part is copied.
  /// Undefined or empty tensors are not sent.
  Exchange allToAll(const std::vector<at::Tensor>& sends,
                    const std::vector<at::Tensor>& receives) const;

 private:
  Communicator* communicator_;
  std::vector<GroupRank> ranks_;
  GroupRank rank_;
};

}  // namespace ringscope::engine
