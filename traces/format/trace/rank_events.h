// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "traces/format/core/mutex.h"
#include "traces/format/schema/event_summary.h"

namespace ringscope::traces {

/// Consecutive events of one rank, decoded. Any thread may read them while `events` does not grow.
struct RunEvents {
  std::vector<Event> events;  ///< in the order of recording

  RunEvents() = default;
  explicit RunEvents(std::vector<Event> those) : events(std::move(those)) {}

  /// Returns the indices of all events in the order in which a rank visits places. Sorts them at
  /// the first call. Valid until `events` grows.
  const std::vector<std::uint32_t>& byPlace() const RINGSCOPE_EXCLUDES(mutex_);
  /// Appends copies of the events from place `first` to place `last`, in the order of recording.
  void copyTo(std::vector<Event>& out, const Place& first, const Place& last) const;

 private:
  mutable Mutex mutex_;
  mutable std::vector<std::uint32_t> by_place_ RINGSCOPE_GUARDED_BY(mutex_);
};

/// A run of events of one rank: decoded events, or the chunk that is said to hold them.
struct EventRun {
  std::uint64_t chunk = 0;  ///< number of the source's chunk; 0: no chunk
  /// For a chunk: its claimed content, and its real content once it is decoded.
  RankSummary holds;
  std::shared_ptr<RunEvents> own;  ///< the events, when they belong to no chunk
  bool lent = false;               ///< a snapshot has these `own` events too, so they cannot change

  std::size_t size() const { return own ? own->events.size() : holds.events; }
  /// Reports whether there may be events from place `first` to place `last`, both included.
  bool mayHold(const Place& first, const Place& last) const;
  /// Reports whether there may be events that touch [begin_ns, end_ns).
  bool mayTouch(std::int64_t begin_ns, std::int64_t end_ns) const;
};

class EventStore;

/// The runs of one rank that were iterated, which keep the events of their chunks in memory.
/// Guarded by the mutex of the EventStore.
struct PassedRuns {
  WorldRank rank;
  std::vector<std::shared_ptr<const RunEvents>> runs;
};

/// All events of one rank in the order of recording: a view of a trace, whose chunks are decoded
/// during the iteration. Valid until the trace grows. References to events stay valid as long as
/// this view, whatever other threads read.
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
    Iterator(const RankEvents* all, std::size_t run) : all_(all), run_(run) { skipEmpty(); }
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
    const RankEvents* all_ = nullptr;
    std::size_t run_ = 0, at_ = 0;
    std::shared_ptr<const RunEvents> held_;
  };

  RankEvents(EventStore* store, std::shared_ptr<PassedRuns> passed, std::size_t runs,
             std::size_t size)
      : store_(store), passed_(std::move(passed)), runs_(runs), size_(size) {}
  Iterator begin() const& { return {this, 0}; }
  Iterator end() const& { return {this, runs_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size() == 0; }
  /// Return the first event and the event of this index, which must exist. The second walks through
  /// the runs to find it.
  const Event& front() const& { return *begin(); }
  Event front() const&& { return *begin(); }
  const Event& operator[](std::size_t index) const&;
  Event operator[](std::size_t index) const&& { return (*this)[index]; }

 private:
  EventStore* store_;
  std::shared_ptr<PassedRuns> passed_;  // shared with other views of the same rank
  std::size_t runs_, size_;             // another thread may learn of more, which are not shown
};

}  // namespace ringscope::traces
