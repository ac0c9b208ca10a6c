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

/// The read model that every view, rule and command works on, live or recorded. It grows by add();
/// spans and references into it are valid until then. Events that a source summarizes are decoded
/// when they are asked for, so even what is const here belongs to one thread.
class Trace {
 public:
  Trace() : Trace(nullptr) {}
  /// Of `source`, which may be null, it reads values and expected chunks when they are asked for;
  /// see readTrace() for the rest.
  explicit Trace(std::shared_ptr<ChunkSource> source);

  /// Takes one chunk in. Throws inputError when it is malformed or names what cannot be (see
  /// admission.h); the trace is then unchanged.
  void add(const Chunk& chunk);
  /// Takes in a chunk of events of the source by its summary, without reading it. Throws inputError
  /// when the summary names what cannot be.
  void expect(const ChunkInfo& chunk);
  /// Brings moments() up to date after expect().
  void updateMoments() { events_.updateMoments(); }
  /// Decodes all events that nobody has asked for yet, and keeps none of them. What summaries
  /// claimed is corrected, and problems() names all damage.
  void readEvents();
  /// The same as of a chunk for records that are none: of an importer, of a test, of another trace.
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
  /// Notes something that could not be read, for whoever shows this trace. A stranger's may give
  /// cause for a hundred thousand sentences: the first are listed, and the rest is counted.
  void addProblem(std::string_view sentence) { listProblem(sentence); }
  /// The same for what matters more than all else.
  void addFirstProblem(std::string_view sentence);

  int worldSize() const { return events_.ranks(); }
  /// All events of one rank in the order of their ends, as they were recorded; none of a rank that
  /// recorded none. Their number is the one that there is, not that which is claimed. They are
  /// decoded as one comes to them; RankEvents says how long one stays where it is.
  RankEvents events(WorldRank rank) const { return events_.of(rank); }
  /// Those at one place, or from place `first` to place `last` (both included), in the order of
  /// recording. Decodes only the chunks that hold them, as does the next.
  std::vector<Event> eventsAt(const Place& place, WorldRank rank) const {
    return events_.between(place, place, rank);
  }
  std::vector<Event> eventsAt(const Place& first, const Place& last, WorldRank rank) const {
    return events_.between(first, last, rank);
  }
  /// Those that touch [begin_ns, end_ns) of the run clock.
  std::vector<Event> eventsBetween(WorldRank rank, std::int64_t begin_ns,
                                   std::int64_t end_ns) const {
    return events_.between(begin_ns, end_ns, rank);
  }
  /// Every place at which one of these ranks has events, each once, in the order of visiting; as
  /// far as chunks were never decoded, what they are said to hold.
  std::vector<Place> places(std::span<const WorldRank> ranks) const {
    return events_.places(ranks);
  }
  /// Every training step that has events, ascending: likewise.
  std::vector<std::int32_t> trainingSteps() const { return events_.trainingSteps(); }
  /// An event that somebody may point at lives as long as the trace.
  void keepAlive(std::shared_ptr<const Event> event) const {
    kept_events_.push_back(std::move(event));
  }
  /// How many there are, without decoding any.
  std::size_t eventCount() const { return events_.count(); }
  std::size_t eventCount(WorldRank rank) const { return events_.count(rank); }
  const std::vector<TensorRecord>& tensors() const { return tensors_; }
  const std::vector<ShardRecord>& shards() const { return shards_; }
  const std::vector<MemorySample>& memory(WorldRank rank) const;
  const std::vector<DiffRecord>& diffs() const { return diffs_; }
  const std::vector<ScheduleRecord>& schedules() const { return schedules_; }
  const std::vector<Note>& notes() const { return raw_notes_; }
  /// What could not be read so far; decoding events may add to it.
  const std::vector<std::string>& problems() const;
  const std::optional<EndRecord>& end() const { return end_; }
  /// The last note of this key, or null.
  const nlohmann::json& note(const std::string& key) const;
  /// All notes of this key: processes whose recordings were joined may have said different things.
  std::vector<const nlohmann::json*> notes(const std::string& key) const;
  /// The run's configuration, or null when it was not recorded.
  const RunSpec* run() const { return run_ ? &*run_ : nullptr; }
  /// All groups of ranks, in the order of their ids.
  const std::vector<GroupRecord>& groups() const { return groups_; }
  /// The group of this axis that a rank belongs to, or null when it was not recorded.
  const GroupRecord* groupOf(WorldRank rank, GroupAxis axis) const;
  /// What was meant at a training step for a rank, or null when it was not recorded.
  const IntentRecord* intent(std::int32_t train_step, WorldRank rank) const;
  const std::vector<IntentRecord>& intents() const { return intents_; }
  /// What the planner decided, or null when it was not recorded.
  const ScheduleRecord* schedule(std::int32_t train_step, WorldRank rank,
                                 Direction direction) const;
  /// The stages of that schedule at a ring step; several where all blocks come at once. Empty when
  /// nothing was recorded.
  std::vector<const StageRecord*> stagesAt(const Place& place, WorldRank rank) const;

  /// Null when there is none.
  const TensorRecord* findTensor(const TensorKey& key) const;
  /// All of this name, place and rank, whatever their microbatch, pass, source and piece, in the
  /// order of recording.
  std::vector<const TensorRecord*> tensorsAt(const TensorName& tensor, const Place& place,
                                             WorldRank rank) const;
  /// The first of those, or null.
  const TensorRecord* findTensor(const TensorName& tensor, const Place& place,
                                 WorldRank rank) const;
  const ShardRecord* findShard(const std::string& buffer, std::int32_t train_step,
                               WorldRank rank) const;
  /// The recorded bytes of a tensor; nullopt when the capture did not keep them.
  std::optional<Bytes> bytes(const TensorRecord& tensor) const;
  /// Values as doubles in row-major order; nullopt when the capture did not keep them.
  std::optional<std::vector<double>> values(const TensorRecord& tensor) const;

  /// Every (training step, layer, direction, ring step) with events, in the order of visiting; none
  /// when no event has a ring step.
  const std::vector<Place>& moments() const { return events_.moments(); }
  /// Largest end of any event.
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

/// Reads a recording from its source of chunks. What is damaged is left out and listed in
/// problems().
std::shared_ptr<Trace> readTrace(std::shared_ptr<ChunkSource> source);

/// Converts recorded elements to doubles. Throws inputError when the sizes do not agree.
std::vector<double> decodeValues(const TensorRecord& tensor, const Bytes& bytes);

}  // namespace ringscope::traces
