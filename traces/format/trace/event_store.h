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

/// The events of a trace. Those of chunks with a summary are decoded when somebody asks for them,
/// and only those that were asked for last are kept: memory grows with what is looked at, not with
/// what is recorded. Until a chunk is decoded for the first time its summary is believed; one that
/// turns out to hold something else, or to be damaged, is a problem. Not thread-safe.
class EventStore {
 public:
  explicit EventStore(std::shared_ptr<ChunkSource> source) : source_(std::move(source)) {}

  /// Takes admitted records in.
  void add(std::span<const Event> events);
  void add(const TimesRecord& times);
  /// Takes in a chunk by its summary, which must be admitted.
  void expect(const ChunkInfo& chunk);
  void makeRoomFor(WorldRank rank);

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Events of a rank, of all ranks, and the largest end of any: as claimed where never decoded.
  std::size_t count(WorldRank rank) const;
  std::size_t count() const;
  std::int64_t endNs() const;
  /// Every place with a ring step, in the order of visiting. What summaries claim until
  /// decodeAll().
  const std::vector<Place>& moments() const { return moments_; }
  /// Every place at which one of these ranks has events, each once, in the order of visiting:
  /// likewise.
  std::vector<Place> places(std::span<const WorldRank> ranks) const;

  /// Every training step that has events, ascending: likewise.
  std::vector<std::int32_t> trainingSteps() const;

  /// All of a rank. Decodes its chunks that never were, so that they are counted as they are.
  RankEvents of(WorldRank rank);
  /// Decodes what may hold events from place `first` to place `last`, both included.
  std::vector<Event> between(const Place& first, const Place& last, WorldRank rank);
  /// Decodes what may hold events that touch [begin_ns, end_ns).
  std::vector<Event> between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank);
  /// Decodes what never was, and corrects moments() where summaries were wrong.
  void decodeAll();
  /// After the last expect(): brings moments() up to date.
  void updateMoments();

  /// What was found wrong since this was last called.
  std::vector<std::string> takeProblems() { return std::exchange(problems_, {}); }

 private:
  friend class RankEvents;
  using Pending =
      std::pair<WorldRank::Value, std::uint32_t>;  // a rank, and an event's number there
  struct At {
    std::size_t run = 0, event = 0;
  };
  struct LateTimes {
    TimesRecord times;
    bool found = false;  // the event is there
  };
  struct OfRank {
    std::deque<EventRun> runs;
    std::size_t count = 0;
    std::int64_t end_ns = 0;
  };
  /// A chunk that was expected: runs by rank.
  struct Expected {
    std::vector<std::pair<WorldRank, std::size_t>> runs;
    bool known = false;  // it was decoded, so that its runs say what it holds
  };

  bool has(WorldRank rank) const { return rank.exists() && rank.value() < ranks(); }
  OfRank& at(WorldRank rank) { return ranks_[rank.index()]; }
  std::size_t runsOf(WorldRank rank) const;
  std::shared_ptr<const RunEvents> goThrough(WorldRank rank, std::size_t run);
  std::shared_ptr<const RunEvents> eventsOf(WorldRank rank, const EventRun& run);
  void append(WorldRank rank, std::span<const Event> events);
  void settle(WorldRank rank, std::size_t run, std::size_t first);
  bool applyLateTimes(WorldRank rank, Event& event);
  KeptChunks::Decoded decode(std::uint64_t chunk);
  std::vector<Event> read(std::uint64_t chunk);
  void learn(std::uint64_t chunk, const DecodedChunk& decoded, bool readable);
  bool correct(WorldRank rank, std::size_t run, const RunEvents& held);
  void updateTotals(WorldRank rank);
  std::vector<Place> placesOf(const OfRank& events, bool moments) const;
  void addMoments(std::span<const Event> added);

  std::shared_ptr<ChunkSource> source_;
  std::deque<OfRank> ranks_;
  std::map<std::uint64_t, Expected> expected_;  // by chunk
  KeptChunks kept_;
  // Of the rank whose events are gone through, by run: they stay until those of another are.
  WorldRank gone_through_;
  std::vector<std::shared_ptr<const RunEvents>> passed_;
  std::map<Pending, At> pending_;       // events of no chunk whose times are not known
  std::map<Pending, LateTimes> times_;  // of events of chunks
  std::vector<Place> moments_;
  bool moments_are_right_ = true;  // as far as chunks were decoded
  std::vector<std::string> problems_;
};

}  // namespace ringscope::traces
