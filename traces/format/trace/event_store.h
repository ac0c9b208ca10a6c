// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "traces/format/core/mutex.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/trace/kept_chunks.h"
#include "traces/format/trace/problem_list.h"
#include "traces/format/trace/rank_events.h"

namespace ringscope::traces {

/// The events of a trace. A chunk with a summary is decoded when its events are needed. Only the
/// most recently used chunks are kept, so memory does not grow with the length of the recording.
/// The summary of a chunk is trusted until the chunk is decoded. A summary that turns out to be
/// wrong and a damaged chunk are problems. Any thread may read while no thread adds. Chunks are
/// read and decoded outside the lock.
class EventStore {
 public:
  EventStore(std::shared_ptr<ChunkSource> source, std::shared_ptr<ProblemList> problems)
      : source_(std::move(source)), problems_(std::move(problems)) {}

  /// Adds admitted records.
  void add(std::span<const Event> events) RINGSCOPE_EXCLUDES(mutex_);
  void add(const TimesRecord& times) RINGSCOPE_EXCLUDES(mutex_);
  /// Adds a chunk by its summary, which must be admitted.
  void expect(const ChunkInfo& chunk) RINGSCOPE_EXCLUDES(mutex_);
  void makeRoomFor(WorldRank rank) RINGSCOPE_EXCLUDES(mutex_);
  /// Returns a store with the same events that reads the same source, and has a cache and, in
  /// `problems`, a list of its own.
  std::shared_ptr<EventStore> snapshot(std::shared_ptr<ProblemList> problems)
      RINGSCOPE_EXCLUDES(mutex_);

  int ranks() const { return rank_count_.load(std::memory_order_relaxed); }
  /// Return the number of events of a rank and of all ranks, and the largest end of any event.
  /// Chunks that were never decoded count as their summaries claim.
  std::size_t count(WorldRank rank) const RINGSCOPE_EXCLUDES(mutex_);
  std::size_t count() const RINGSCOPE_EXCLUDES(mutex_);
  std::int64_t endNs() const RINGSCOPE_EXCLUDES(mutex_);
  /// Returns every place with a ring step, in the order in which a rank visits them. Relies on
  /// summaries until decodeAll().
  std::vector<Place> moments() const RINGSCOPE_EXCLUDES(mutex_);
  /// Returns how many summaries turned out to be wrong so far.
  std::uint64_t corrections() const RINGSCOPE_EXCLUDES(mutex_);
  /// Returns every place at which one of these ranks has events, each once, in the order in which a
  /// rank visits them. Relies on summaries until decodeAll().
  std::vector<Place> places(std::span<const WorldRank> ranks) const RINGSCOPE_EXCLUDES(mutex_);

  /// Returns every training step that has events, ascending. Relies on summaries until decodeAll().
  std::vector<std::int32_t> trainingSteps() const RINGSCOPE_EXCLUDES(mutex_);

  /// Returns all events of a rank. Decodes the rank's chunks that were never decoded, so that the
  /// number of events is exact.
  RankEvents rankEvents(WorldRank rank) RINGSCOPE_EXCLUDES(mutex_);
  /// Returns the events from place `first` to place `last`, both included. Decodes only the chunks
  /// that may hold such events.
  std::vector<Event> between(const Place& first, const Place& last, WorldRank rank)
      RINGSCOPE_EXCLUDES(mutex_);
  /// Returns the events that touch [begin_ns, end_ns). Decodes only the chunks that may hold such
  /// events.
  std::vector<Event> between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank)
      RINGSCOPE_EXCLUDES(mutex_);
  /// Calls `take` with all events, a few of one rank at a time, until `take` returns false. The
  /// events of a rank come in the order of recording. Keeps no chunk that was not kept before.
  void visit(const std::function<bool(std::span<const Event>)>& take) RINGSCOPE_EXCLUDES(mutex_);
  /// Decodes every chunk that was never decoded.
  void decodeAll() RINGSCOPE_EXCLUDES(mutex_);

 private:
  friend class RankEvents;
  using Pending = std::pair<WorldRank::Value, std::uint32_t>;  // a rank, and the number of an event
                                                               // of that rank
  struct At {
    std::size_t run = 0, event = 0;
  };
  struct LateTimes {
    TimesRecord times;
    bool found = false;  // the event with these times was found
  };
  struct OfRank {
    std::deque<EventRun> runs;
    std::size_t count = 0;
    std::int64_t end_ns = 0;
  };
  /// A chunk that was expected: its runs by rank.
  struct Expected {
    std::vector<std::pair<WorldRank, std::size_t>> runs;
    bool known = false;    // the chunk was decoded, so its runs are exact
    bool damaged = false;  // the chunk cannot be read, which was reported
  };
  /// The content of a chunk, or why it cannot be read.
  struct Content {
    std::vector<Event> events;
    std::string problem;
  };

  bool has(WorldRank rank) const RINGSCOPE_REQUIRES(mutex_) {
    return rank.exists() && rank.index() < ranks_.size();
  }
  OfRank& at(WorldRank rank) RINGSCOPE_REQUIRES(mutex_) { return ranks_[rank.index()]; }
  void makeRoom(WorldRank rank) RINGSCOPE_REQUIRES(mutex_);
  std::shared_ptr<const RunEvents> goThrough(PassedRuns& passed, std::size_t run)
      RINGSCOPE_EXCLUDES(mutex_);
  template <typename May>
  std::shared_ptr<const RunEvents> next(WorldRank rank, std::size_t& run, const May& may, bool keep)
      RINGSCOPE_EXCLUDES(mutex_);
  std::shared_ptr<const RunEvents> eventsFor(WorldRank rank, std::size_t run, bool keep)
      RINGSCOPE_EXCLUDES(mutex_);
  void append(WorldRank rank, std::span<const Event> events) RINGSCOPE_REQUIRES(mutex_);
  std::vector<Event>& changeable(EventRun& run) RINGSCOPE_REQUIRES(mutex_);
  void settle(WorldRank rank, std::size_t run, std::size_t first) RINGSCOPE_REQUIRES(mutex_);
  bool applyLateTimes(WorldRank rank, Event& event) RINGSCOPE_REQUIRES(mutex_);
  KeptChunks::Decoded decode(std::uint64_t chunk, bool keep) RINGSCOPE_EXCLUDES(mutex_);
  Content read(std::uint64_t chunk) const;
  bool isKnown(std::uint64_t chunk) const RINGSCOPE_EXCLUDES(mutex_);
  void learn(std::uint64_t chunk, const EventSummary& real, bool readable)
      RINGSCOPE_REQUIRES(mutex_);
  bool correct(WorldRank rank, std::size_t run, const RankSummary& real) RINGSCOPE_REQUIRES(mutex_);
  void updateTotals(WorldRank rank) RINGSCOPE_REQUIRES(mutex_);
  std::vector<Place> placesFor(const OfRank& events, bool moments) const RINGSCOPE_REQUIRES(mutex_);

  const std::shared_ptr<ChunkSource> source_;
  const std::shared_ptr<ProblemList> problems_;
  mutable Mutex mutex_;
  std::deque<OfRank> ranks_ RINGSCOPE_GUARDED_BY(mutex_);
  std::atomic<int> rank_count_ = 0;                                          // size of ranks_
  std::map<std::uint64_t, Expected> expected_ RINGSCOPE_GUARDED_BY(mutex_);  // by chunk number
  KeptChunks kept_ RINGSCOPE_GUARDED_BY(mutex_);
  std::shared_ptr<PassedRuns> passed_ RINGSCOPE_GUARDED_BY(mutex_);  // of the rank iterated last
  std::map<Pending, At> pending_ RINGSCOPE_GUARDED_BY(mutex_);       // events without a chunk whose
                                                                     // times are not known yet
  std::map<Pending, LateTimes> times_ RINGSCOPE_GUARDED_BY(mutex_);  // late times of events in
                                                                     // chunks
  std::uint64_t corrections_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringscope::traces
