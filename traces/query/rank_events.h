// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <vector>

#include "traces/schema/event_summary.h"

namespace ringscope::traces {

/// Consecutive events of one rank: decoded, or still in the chunk that is said to hold them.
struct EventRun {
  std::uint64_t chunk = 0;  ///< of the source; 0: of none
  bool decoded = true;
  RankSummary claimed;                  ///< until it is decoded
  std::vector<Event> events;            ///< in the order of recording
  std::vector<std::uint32_t> by_place;  ///< indices of events in the order of visiting

  /// Puts the events from `first` on into by_place.
  void index(std::size_t first);
  /// Whether there may be events from place `first` to place `last`, both included.
  bool mayHold(const Place& first, const Place& last) const;
  /// Whether there may be events that touch [begin_ns, end_ns).
  bool mayTouch(std::int64_t begin_ns, std::int64_t end_ns) const;
  /// Appends copies of the events from place `first` to place `last`, in the order of recording.
  void copyTo(std::vector<Event>& out, const Place& first, const Place& last) const;
};

/// All events of one rank in the order of recording. Made by EventStore; whoever can reach one has
/// them decoded. Valid until the trace grows.
class RankEvents {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Event;
    using difference_type = std::ptrdiff_t;
    using pointer = const Event*;
    using reference = const Event&;

    Iterator() = default;
    Iterator(const std::deque<EventRun>& runs, std::size_t run, std::size_t stop)
        : runs_(&runs), run_(run), stop_(stop) {
      skipEmpty();
    }
    reference operator*() const { return (*runs_)[run_].events[at_]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      ++at_;
      skipEmpty();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    void skipEmpty() {
      while (run_ < stop_ && at_ == (*runs_)[run_].events.size()) {
        ++run_;
        at_ = 0;
      }
    }
    const std::deque<EventRun>* runs_ = nullptr;
    std::size_t run_ = 0, at_ = 0;
    std::size_t stop_ = 0;  // runs may be added meanwhile
  };

  Iterator begin() const { return {runs_, 0, runs_.size()}; }
  Iterator end() const { return {runs_, runs_.size(), runs_.size()}; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const Event& front() const { return *begin(); }
  /// The event of this index, which must be there; looks at one run after the other.
  const Event& operator[](std::size_t index) const;

 private:
  friend class EventStore;
  std::deque<EventRun> runs_;  // references into it stay valid while it grows
  std::size_t count_ = 0;      // as claimed where it is not decoded
  std::int64_t end_ns_ = 0;    // likewise
};

}  // namespace ringscope::traces
