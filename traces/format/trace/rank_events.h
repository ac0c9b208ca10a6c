// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "traces/format/schema/event_summary.h"

namespace ringscope::traces {

/// Consecutive events of one rank, decoded.
struct RunEvents {
  std::vector<Event> events;  ///< in the order of recording

  /// Returns the indices of all events in the order in which a rank visits places. Sorts them at
  /// the first call.
  const std::vector<std::uint32_t>& byPlace() const;
  /// Appends copies of the events from place `first` to place `last`, in the order of recording.
  void copyTo(std::vector<Event>& out, const Place& first, const Place& last) const;

 private:
  mutable std::vector<std::uint32_t> by_place_;
};

/// A run of events of one rank: decoded events, or the chunk that is said to hold them.
struct EventRun {
  std::uint64_t chunk = 0;  ///< number of the source's chunk; 0: no chunk
  /// For a chunk: its claimed content, and its real content once it is decoded.
  RankSummary holds;
  std::shared_ptr<RunEvents> own;  ///< the events, when they belong to no chunk

  std::size_t size() const { return own ? own->events.size() : holds.events; }
  /// Reports whether there may be events from place `first` to place `last`, both included.
  bool mayHold(const Place& first, const Place& last) const;
  /// Reports whether there may be events that touch [begin_ns, end_ns).
  bool mayTouch(std::int64_t begin_ns, std::int64_t end_ns) const;
};

class EventStore;

/// All events of one rank in the order of recording: a view of a trace, whose chunks are decoded
/// during the iteration. Valid until the trace grows. References to events stay valid until the
/// events of another rank are iterated.
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
    Iterator(EventStore* store, WorldRank rank, std::size_t run, std::size_t stop)
        : store_(store), rank_(rank), run_(run), stop_(stop) {
      skipEmpty();
    }
    reference operator*() const { return held_->events[at_]; }
    pointer operator->() const { return &**this; }
    Iterator& operator++() {
      if (++at_ < held_->events.size()) return *this;
      ++run_;
      at_ = 0;
      skipEmpty();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return a.run_ == b.run_ && a.at_ == b.at_;
    }

   private:
    void skipEmpty();
    EventStore* store_ = nullptr;
    WorldRank rank_;
    std::size_t run_ = 0, at_ = 0;
    std::size_t stop_ = 0;  // number of runs at the start; runs may be added meanwhile
    std::shared_ptr<const RunEvents> held_;
  };

  RankEvents(EventStore* store, WorldRank rank) : store_(store), rank_(rank) {}
  Iterator begin() const { return {store_, rank_, 0, runs()}; }
  Iterator end() const { return {store_, rank_, runs(), runs()}; }
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  const Event& front() const { return *begin(); }
  /// Returns the event of this index, which must exist. Walks through the runs to find it.
  const Event& operator[](std::size_t index) const;

 private:
  std::size_t runs() const;
  EventStore* store_;
  WorldRank rank_;
};

}  // namespace ringscope::traces
