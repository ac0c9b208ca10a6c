// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "traces/query/trace.h"

namespace ringscope::traces {

/// Which events of each rank belong to a ring step. Follows a growing trace: update() looks only at
/// what is new.
class MomentIndex {
 public:
  void update(const Trace& trace);
  /// Indices into trace.events(rank), in the order of recording; empty when there are none.
  const std::vector<std::size_t>& eventsOf(const Place& place, int rank) const;

 private:
  struct Before {
    bool operator()(const Place& a, const Place& b) const { return before(a, b); }
  };
  std::map<Place, std::vector<std::vector<std::size_t>>, Before> by_place_;
  std::vector<std::size_t> seen_;  // events of each rank that are indexed
};

}  // namespace ringscope::traces
