// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/format/trace/rank_events.h"

namespace ringscope::traces {

/// The decoded events of one chunk, by rank.
struct DecodedChunk {
  std::vector<std::pair<WorldRank, std::shared_ptr<RunEvents>>> ranks;

  /// Returns the events of a rank; null when there are none.
  std::shared_ptr<RunEvents> of(WorldRank rank) const {
    for (const auto& [whose, events] : ranks)
      if (whose == rank) return events;
    return nullptr;
  }
  std::size_t events() const {
    std::size_t count = 0;
    for (const auto& [rank, held] : ranks) count += held->events.size();
    return count;
  }
};

/// A cache of the most recently used decoded chunks. Not thread-safe.
class KeptChunks {
 public:
  using Decoded = std::shared_ptr<const DecodedChunk>;

  /// Returns a kept chunk; null when it is not kept.
  Decoded find(std::uint64_t chunk) {
    const auto found = at_.find(chunk);
    if (found == at_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }
  /// Adds a chunk. Removes the least recently used chunks until at most `most_events` events are
  /// kept; the added chunk always stays.
  void keep(std::uint64_t chunk, Decoded decoded, std::size_t most_events) {
    events_ += decoded->events();
    order_.emplace_front(chunk, std::move(decoded));
    at_[chunk] = order_.begin();
    while (events_ > most_events && order_.size() > 1) {
      events_ -= order_.back().second->events();
      at_.erase(order_.back().first);
      order_.pop_back();
    }
  }
  void clear() {
    order_.clear();
    at_.clear();
    events_ = 0;
  }

 private:
  std::list<std::pair<std::uint64_t, Decoded>> order_;  // most recently used first
  std::unordered_map<std::uint64_t, decltype(order_)::iterator> at_;
  std::size_t events_ = 0;
};

}  // namespace ringscope::traces
