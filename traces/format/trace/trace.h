// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "traces/format/schema/chunk.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/trace/event_store.h"

namespace ringscope::traces {

/// The read model of a recording, finished or live. Every view, rule and command works on it. It
/// grows by add(); spans and references into it are valid until then. Events of summarised chunks
/// are decoded on demand, so even const members must be called from one thread only.
class Trace {
 public:
  Trace() : Trace(nullptr) {}
  /// Creates a trace that reads values and expected chunks from `source`, which may be null, on
  /// demand. readTrace() reads everything else.
  explicit Trace(std::shared_ptr<ChunkSource> source);

  /// Adds one chunk. Throws inputError when it is malformed or exceeds the bounds of admission.h;
  /// the trace is then unchanged.
  void add(const Chunk& chunk);
  /// Adds a chunk of events of the source by its summary, without reading it. Throws inputError
  /// when the summary exceeds the bounds of admission.h.
  void expect(const ChunkInfo& chunk);
  /// Updates moments() after expect().
  void updateMoments() { events_.updateMoments(); }
  /// Decodes all events that were never decoded, and keeps none of them. Corrects what summaries
  /// claimed; afterwards problems() lists all damage.
  void readEvents();
  /// Add records that come from no chunk: from an importer, a test, or another trace.
  void add(std::span<const Event> events);
  void add(std::span<const TimesRecord> times);
  void add(std::vector<TensorRecord> tensors);
  void add(std::span<const MemorySample> samples);
  void add(ShardRecord shard);
  void add(DiffRecord diff);
  void add(const Note& note);
  void add(RunSpec run);
  void add(IntentRecord intent);
  void add(GroupRecord group);
  void add(ScheduleRecord schedule);
  void add(EndRecord end) { end_ = std::move(end); }
  /// Keeps the values of a tensor in memory.
  void addValues(TensorId tensor, Bytes values);
  /// Adds a sentence about something that could not be read. An untrusted trace may cause a hundred
  /// thousand such sentences, so only the first ones are listed and the others are counted.
  void addProblem(std::string_view sentence) { listProblem(sentence); }
  /// Adds the most important problem at the front of the list.
  void addFirstProblem(std::string_view sentence);

  int worldSize() const { return events_.ranks(); }
  /// Returns all events of one rank in the order of recording, which is that of their ends; none
  /// for a rank without events. Their number is exact: summaries are not trusted. Chunks are
  /// decoded during the iteration; RankEvents says how long references stay valid.
  RankEvents events(WorldRank rank) const { return events_.of(rank); }
  /// Return the events at one place, or from place `first` to place `last` (both included), in the
  /// order of recording. Decode only the chunks that may hold them.
  std::vector<Event> eventsAt(const Place& place, WorldRank rank) const {
    return events_.between(place, place, rank);
  }
  std::vector<Event> eventsAt(const Place& first, const Place& last, WorldRank rank) const {
    return events_.between(first, last, rank);
  }
  /// Returns the events that touch [begin_ns, end_ns) of the run clock. Decodes only the chunks
  /// that may hold them.
  std::vector<Event> eventsBetween(WorldRank rank, std::int64_t begin_ns,
                                   std::int64_t end_ns) const {
    return events_.between(begin_ns, end_ns, rank);
  }
  /// Returns every place at which one of these ranks has events, each once, in the order in which a
  /// rank visits them. Relies on summaries for chunks that were never decoded.
  std::vector<Place> places(std::span<const WorldRank> ranks) const {
    return events_.places(ranks);
  }
  /// Returns every training step that has events, ascending. Relies on summaries in the same way.
  std::vector<std::int32_t> trainingSteps() const { return events_.trainingSteps(); }
  /// Keeps an event as long as the trace, so that pointers to it stay valid.
  void keepAlive(std::shared_ptr<const Event> event) const {
    kept_events_.push_back(std::move(event));
  }
  /// Return the number of events, without decoding any.
  std::size_t eventCount() const { return events_.count(); }
  std::size_t eventCount(WorldRank rank) const { return events_.count(rank); }
  const std::vector<TensorRecord>& tensors() const { return tensors_; }
  const std::vector<ShardRecord>& shards() const { return shards_; }
  const std::vector<MemorySample>& memory(WorldRank rank) const;
  const std::vector<DiffRecord>& diffs() const { return diffs_; }
  const std::vector<ScheduleRecord>& schedules() const { return schedules_; }
  const std::vector<Note>& notes() const { return raw_notes_; }
  /// Returns the problems found so far. Decoding events may add problems.
  const std::vector<std::string>& problems() const;
  const std::optional<EndRecord>& end() const { return end_; }
  /// Returns the last note of this key, or null.
  const nlohmann::json& note(const std::string& key) const;
  /// Returns all notes of this key. Processes whose recordings were joined may have written
  /// different notes.
  std::vector<const nlohmann::json*> notes(const std::string& key) const;
  /// Returns the run's configuration, or null when it was not recorded.
  const RunSpec* run() const { return run_ ? &*run_ : nullptr; }
  /// Returns all groups of ranks, in the order of their ids.
  const std::vector<GroupRecord>& groups() const { return groups_; }
  /// Returns the group of this axis that a rank belongs to, or null when it was not recorded.
  const GroupRecord* groupContaining(WorldRank rank, GroupAxis axis) const;
  /// Returns the declared intention for a rank at a training step, or null when it was not
  /// recorded.
  const IntentRecord* intent(std::int32_t train_step, WorldRank rank) const;
  const std::vector<IntentRecord>& intents() const { return intents_; }
  /// Returns the planner's decision, or null when it was not recorded.
  const ScheduleRecord* schedule(std::int32_t train_step, WorldRank rank,
                                 Direction direction) const;
  /// Returns the stages of that schedule at a ring step; several when all blocks arrive at once.
  /// Empty when nothing was recorded.
  std::vector<const StageRecord*> stagesAt(const Place& place, WorldRank rank) const;

  /// Returns null when there is none.
  const TensorRecord* findTensor(const TensorKey& key) const;
  /// Returns all tensors of this name, place and rank, for any microbatch, pass, source and piece,
  /// in the order of recording.
  std::vector<const TensorRecord*> tensorsAt(const TensorName& tensor, const Place& place,
                                             WorldRank rank) const;
  /// Returns the first of these tensors, or null.
  const TensorRecord* findTensor(const TensorName& tensor, const Place& place,
                                 WorldRank rank) const;
  const ShardRecord* findShard(const std::string& buffer, std::int32_t train_step,
                               WorldRank rank) const;
  /// Returns the recorded bytes of a tensor; nullopt when the capture did not keep them.
  std::optional<Bytes> bytes(const TensorRecord& tensor) const;
  /// Returns the values as doubles in row-major order; nullopt when the capture did not keep them.
  std::optional<std::vector<double>> values(const TensorRecord& tensor) const;

  /// Returns every (training step, layer, direction, ring step) with events, in the order in which
  /// a rank visits them; none when no event has a ring step.
  const std::vector<Place>& moments() const { return events_.moments(); }
  /// Returns the largest end of any event, in nanoseconds of the run clock.
  std::int64_t endNs() const { return events_.endNs(); }

 private:
  void listProblem(std::string_view sentence) const;
  std::vector<GroupRecord>::const_iterator findGroup(GroupId id) const;

  std::shared_ptr<ChunkSource> source_;
  mutable EventStore events_;
  mutable std::vector<std::shared_ptr<const Event>> kept_events_;
  std::vector<std::vector<MemorySample>> memory_;
  std::vector<TensorRecord> tensors_;
  struct KeyBefore {
    bool operator()(const TensorKey& a, const TensorKey& b) const { return keyBefore(a, b); }
  };
  std::map<TensorKey, std::size_t, KeyBefore> tensor_index_;
  std::vector<ShardRecord> shards_;
  std::map<std::tuple<std::string, std::int32_t, std::int32_t>, std::size_t> shard_index_;
  std::vector<DiffRecord> diffs_;
  std::vector<Note> raw_notes_;
  std::vector<std::pair<std::string, nlohmann::json>> notes_;
  std::optional<RunSpec> run_;
  std::vector<GroupRecord> groups_;
  std::vector<IntentRecord> intents_;
  struct ScheduleOf {
    WorldRank rank;
    Direction direction;
    bool operator<(const ScheduleOf& other) const {
      return std::tuple(rank.value(), direction) < std::tuple(other.rank.value(), other.direction);
    }
  };
  std::vector<ScheduleRecord> schedules_;
  std::map<ScheduleOf, std::map<std::int32_t, std::size_t>> schedule_index_;  // by training step
  std::map<std::int64_t, Bytes> kept_values_;                                 // by tensor
  mutable std::vector<std::string> problems_;
  std::optional<EndRecord> end_;
  mutable std::size_t unlisted_problems_ = 0;
  std::map<std::pair<GroupAxis, WorldRank>, GroupId> group_index_;
};

/// Reads a recording from its source of chunks. Damaged parts are left out and listed in
/// problems().
std::shared_ptr<Trace> readTrace(std::shared_ptr<ChunkSource> source);

/// Converts recorded elements to doubles. Throws inputError when their number does not match the
/// shape.
std::vector<double> decodeValues(const TensorRecord& tensor, const Bytes& bytes);

}  // namespace ringscope::traces
