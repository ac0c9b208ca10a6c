// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "traces/query/rank_events.h"
#include "traces/storage/chunk_source.h"

namespace ringscope::traces {

/// The events of a trace. Those of chunks with a summary are decoded when somebody asks for them;
/// until then the summary is believed, and a chunk that turns out to hold something else, or to be
/// damaged, is a problem. Not thread-safe.
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
  /// Events of a rank, of all ranks, and the largest end of any: as claimed where not decoded.
  std::size_t count(WorldRank rank) const;
  std::size_t count() const;
  std::int64_t endNs() const;
  /// Every place with a ring step, in the order of visiting. What summaries claim until
  /// decodeAll().
  const std::vector<Place>& moments() const { return moments_; }

  /// Decodes all of a rank.
  const RankEvents& of(WorldRank rank);
  /// Decodes what may hold events from place `first` to place `last`, both included.
  std::vector<Event> between(const Place& first, const Place& last, WorldRank rank);
  /// Decodes what may hold events that touch [begin_ns, end_ns).
  std::vector<Event> between(std::int64_t begin_ns, std::int64_t end_ns, WorldRank rank);
  /// Decodes the rest, and corrects moments() where summaries were wrong.
  void decodeAll();
  /// After the last expect(): brings moments() up to date.
  void updateMoments();

  /// What was found wrong since this was last called.
  std::vector<std::string> takeProblems() { return std::exchange(problems_, {}); }

 private:
  using Pending =
      std::pair<WorldRank::Value, std::uint32_t>;  // a rank, and an event's number there
  struct At {
    std::size_t run = 0, event = 0;
  };

  bool has(WorldRank rank) const { return rank.exists() && rank.value() < ranks(); }
  RankEvents& events(WorldRank rank) { return ranks_[rank.index()]; }
  void append(WorldRank rank, std::span<const Event> events);
  void settle(WorldRank rank, std::size_t run, std::size_t first);
  void apply(const TimesRecord& times, WorldRank rank, At at);
  void decode(std::uint64_t chunk);
  std::vector<Event> read(std::uint64_t chunk);
  bool fill(WorldRank rank, std::size_t run, std::vector<Event> events);
  void updateTotals(RankEvents& events);
  std::vector<Place> momentsOf(const RankEvents& events) const;
  void addMoments(std::span<const Event> added);

  std::shared_ptr<ChunkSource> source_;
  std::deque<RankEvents> ranks_;
  /// Where the events of a chunk that is not decoded belong: runs by rank.
  std::map<std::uint64_t, std::vector<std::pair<WorldRank, std::size_t>>> expected_;
  std::map<Pending, At> pending_;         // events whose times are not known
  std::map<Pending, TimesRecord> times_;  // of events that are not decoded
  std::vector<Place> moments_;
  bool moments_are_right_ = true;  // as far as chunks are decoded
  std::vector<std::string> problems_;
};

}  // namespace ringscope::traces
