// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/format/storage/chunk_source.h"
#include "traces/format/trace/kept_chunks.h"
#include "traces/format/trace/rank_events.h"

namespace ringscope::traces {

/// The events of a trace. A chunk with a summary is decoded when its events are needed. Only the
/// most recently used chunks are kept, so memory does not grow with the length of the recording.
/// The summary of a chunk is trusted until the chunk is decoded. A summary that turns out to be
/// wrong and a damaged chunk are problems. Not thread-safe.
class EventStore {
 public:
  explicit EventStore(std::shared_ptr<ChunkSource> source) : source_(std::move(source)) {}

  /// Adds admitted records.
  void add(std::span<const Event> events);
  void add(const TimesRecord& times);
  /// Adds a chunk by its summary, which must be admitted.
  void expect(const ChunkInfo& chunk);
  void makeRoomFor(WorldRank rank);

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Return the number of events of a rank and of all ranks, and the largest end of any event.
  /// Chunks that were never decoded count as their summaries claim.
  std::size_t count(WorldRank rank) const;
  std::size_t count() const;
  std::int64_t endNs() const;
  /// Returns every place with a ring step, in the order in which a rank visits them. Relies on
  /// summaries until decodeAll().
  const std::vector<Place>& moments() const { return moments_; }
  /// Returns every place at which one of these ranks has events, each once, in the order in which a
  /// rank visits them. Relies on summaries until decodeAll().
  std::vector<Place> places(std::span<const WorldRank> ranks) const;

  /// Returns every training step that has events, ascending. Relies on summaries until decodeAll().
  std::vector<std::int32_t> trainingSteps() const;

  /// Returns all events of a rank. Decodes the rank's chunks that were never decoded, so that the
  /// number of events is exact.
  RankEvents of(WorldRank rank);
  /// Returns the events from place `first` to place `last`, both included. Decodes only the chunks
  /// that may hold such events.
  std::vector<Event> between(const Place& first, const Place& last, WorldRank rank);
  /// Returns the events that touch [begin_ns, end_ns). Decodes only the chunks that may hold such
  /// events.
  std::vector<Event> between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank);
  /// Decodes every chunk that was never decoded, and corrects moments() where summaries were wrong.
  void decodeAll();
  /// Updates moments(). Call it after the last expect().
  void updateMoments();

  /// Returns the problems found since the last call.
  std::vector<std::string> takeProblems() { return std::exchange(problems_, {}); }

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
    bool known = false;  // the chunk was decoded, so its runs are exact
  };

  bool has(WorldRank rank) const { return rank.exists() && rank.value() < ranks(); }
  OfRank& at(WorldRank rank) { return ranks_[rank.index()]; }
  std::size_t countRuns(WorldRank rank) const;
  std::shared_ptr<const RunEvents> goThrough(WorldRank rank, std::size_t run);
  std::shared_ptr<const RunEvents> eventsFor(WorldRank rank, const EventRun& run);
  void append(WorldRank rank, std::span<const Event> events);
  void settle(WorldRank rank, std::size_t run, std::size_t first);
  bool applyLateTimes(WorldRank rank, Event& event);
  KeptChunks::Decoded decode(std::uint64_t chunk);
  std::vector<Event> read(std::uint64_t chunk);
  void learn(std::uint64_t chunk, const DecodedChunk& decoded, bool readable);
  bool correct(WorldRank rank, std::size_t run, const RunEvents& held);
  void updateTotals(WorldRank rank);
  std::vector<Place> placesFor(const OfRank& events, bool moments) const;
  void addMoments(std::span<const Event> added);

  std::shared_ptr<ChunkSource> source_;
  std::deque<OfRank> ranks_;
  std::map<std::uint64_t, Expected> expected_;  // by chunk number
  KeptChunks kept_;
  // The rank whose events are iterated, and its runs so far. They are kept until another rank's
  // events are iterated.
  WorldRank gone_through_;
  std::vector<std::shared_ptr<const RunEvents>> passed_;
  std::map<Pending, At> pending_;       // events without a chunk whose times are not known yet
  std::map<Pending, LateTimes> times_;  // late times of events in chunks
  std::vector<Place> moments_;
  bool moments_are_right_ = true;  // as far as chunks were decoded
  std::vector<std::string> problems_;
};

}  // namespace ringscope::traces
