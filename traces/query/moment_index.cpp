// SPDX-License-Identifier: Apache-2.0
#include "traces/query/moment_index.h"

namespace ringscope::traces {

void MomentIndex::update(const Trace& trace) {
  seen_.resize(static_cast<std::size_t>(trace.worldSize()), 0);
  for (std::size_t rank = 0; rank < seen_.size(); ++rank) {
    const auto& events = trace.events(static_cast<int>(rank));
    for (std::size_t& i = seen_[rank]; i < events.size(); ++i) {
      if (events[i].place.stage < 0) continue;
      auto& ranks = by_place_[events[i].place];
      if (ranks.size() <= rank) ranks.resize(rank + 1);
      ranks[rank].push_back(i);
    }
  }
}

const std::vector<std::size_t>& MomentIndex::eventsOf(const Place& place, int rank) const {
  static const std::vector<std::size_t> kNone;
  const auto found = by_place_.find(place);
  const auto r = static_cast<std::size_t>(rank);
  return found == by_place_.end() || r >= found->second.size() ? kNone : found->second[r];
}

}  // namespace ringscope::traces
