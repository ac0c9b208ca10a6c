// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/format/schema/chunk.h"
#include "traces/format/storage/chunk_source.h"
#include "traces/format/trace/event_store.h"
#include "traces/format/trace/trace_records.h"

namespace ringscope::traces {

/// The read model of a recording, finished or live. Every view, rule and command works on it.
///
/// Threads: any number of threads may call const members at the same time, while no thread calls
/// another member. References, spans and RankEvents stay valid until such a call. Until then const
/// members return the same values, with one exception. When a chunk is decoded for the first time,
/// its content replaces the claims of its summary. problems() says if the summary was wrong or the
/// chunk is damaged. Then events, counts, places() and trainingSteps() follow the content, but
/// moments() does not change. intent() and schedule() return null where damage may hide a newer
/// record.
///
/// Growth: add() and expect() change this trace, but no snapshot() that was taken of it.
class Trace {
 public:
  Trace() : Trace(nullptr) {}
  /// Creates a trace that reads values and expected chunks from `source`, which may be null, on
  /// demand. readTrace() reads everything else.
  explicit Trace(std::shared_ptr<ChunkSource> source);

  /// Returns a trace of what is recorded now. It reads the same source, and shares the records and
  /// the events that were added. It has its own cache of decoded chunks, so a thread that reads
  /// everything does not evict the chunks of another. Costs time per chunk, not per event.
  std::shared_ptr<Trace> snapshot() const;

  /// Adds one chunk. Throws inputError when it is malformed or exceeds the bounds of admission.h;
  /// the trace is then unchanged.
  void add(const Chunk& chunk);
  /// Adds a chunk of events of the source by its summary, without reading it. Throws inputError
  /// when the summary exceeds the bounds of admission.h.
  void expect(const ChunkInfo& chunk);
  /// Updates moments() after expect().
  void updateMoments();
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
  void add(EndRecord end) { changed().end = std::move(end); }
  /// Keeps the values of a tensor in memory.
  void addValues(TensorId tensor, Bytes values);
  /// Adds a sentence about something that could not be read.
  void addProblem(std::string_view sentence) { problems_->add(sentence); }
  /// Adds the most important problem at the front of the list.
  void addFirstProblem(std::string_view sentence) { problems_->addFirst(sentence); }

  int worldSize() const { return events_->ranks(); }
  /// Returns all events of one rank in the order of recording, which is that of their ends; none
  /// for a rank without events. Their number is exact: summaries are not trusted. Chunks are
  /// decoded during the iteration; RankEvents says how long references stay valid.
  RankEvents events(WorldRank rank) const { return events_->rankEvents(rank); }
  /// Return the events at one place, or from place `first` to place `last` (both included), in the
  /// order of recording. Decode only the chunks that may hold them.
  std::vector<Event> eventsAt(const Place& place, WorldRank rank) const {
    return events_->between(place, place, rank);
  }
  std::vector<Event> eventsAt(const Place& first, const Place& last, WorldRank rank) const {
    return events_->between(first, last, rank);
  }
  /// Returns the events that touch [begin_ns, end_ns) of the run clock. Decodes only the chunks
  /// that may hold them.
  std::vector<Event> eventsBetween(WorldRank rank, std::int64_t begin_ns,
                                   std::int64_t end_ns) const {
    return events_->between(begin_ns, end_ns, rank);
  }
  /// Returns every place at which one of these ranks has events, each once, in the order in which a
  /// rank visits them. Relies on summaries for chunks that were never decoded.
  std::vector<Place> places(std::span<const WorldRank> ranks) const {
    return events_->places(ranks);
  }
  /// Returns every training step that has events, ascending. Relies on summaries in the same way.
  std::vector<std::int32_t> trainingSteps() const { return events_->trainingSteps(); }
  /// Calls `take` with all events, a few of one rank at a time, until `take` returns false. The
  /// events of a rank come in the order of recording. Keeps no decoded chunk, so memory does not
  /// grow with the number of events.
  void visitEvents(const std::function<bool(std::span<const Event>)>& take) const {
    events_->visit(take);
  }
  /// Return the number of events, without decoding any.
  std::size_t eventCount() const { return events_->count(); }
  std::size_t eventCount(WorldRank rank) const { return events_->count(rank); }
  const std::vector<TensorRecord>& tensors() const { return records().tensors; }
  /// Returns the shards that hold for all microbatches of a training step.
  const std::vector<ShardRecord>& shards() const { return records().shards; }
  /// Returns the shards that hold for one microbatch only.
  const std::vector<ShardRecord>& microbatchShards() const { return records().microbatch_shards; }
  const std::vector<MemorySample>& memory(WorldRank rank) const;
  const std::vector<DiffRecord>& diffs() const { return records().diffs; }
  /// Returns the schedules that hold for all microbatches.
  const std::vector<ScheduleRecord>& schedules() const { return records().schedules; }
  const std::vector<Note>& notes() const { return records().raw_notes; }
  /// Returns the problems found so far. Decoding events may add problems.
  std::vector<std::string> problems() const { return problems_->list(); }
  const std::optional<EndRecord>& end() const { return records().end; }
  /// Returns the last note of this key, or null.
  const nlohmann::json& note(const std::string& key) const;
  /// Returns all notes of this key. Processes whose recordings were joined may have written
  /// different notes.
  std::vector<const nlohmann::json*> notes(const std::string& key) const;
  /// Returns the run's configuration, or null when it was not recorded.
  const RunSpec* run() const { return records().run ? &*records().run : nullptr; }
  /// Returns the groups of ranks that hold for all microbatches, in the order of their ids.
  const std::vector<GroupRecord>& groups() const { return records().groups; }
  /// Returns the groups of ranks that hold for some microbatches only.
  const std::vector<GroupRecord>& microbatchGroups() const { return records().microbatch_groups; }
  /// Returns the group of this axis that a rank belongs to in all microbatches, or null when it was
  /// not recorded.
  const GroupRecord* groupContaining(WorldRank rank, GroupAxis axis) const;
  /// Returns the declared intention for a rank at a training step, or null when it was not
  /// recorded. Only the mask and the window differ between layers; layer none asks for any layer.
  /// An intention for one microbatch only is found when `microbatch` names it, and replaces the
  /// intention for all.
  const IntentRecord* intent(std::int32_t train_step, WorldRank rank, Layer layer = Layer::none(),
                             std::optional<std::int32_t> microbatch = {}) const;
  /// Returns the intentions for all microbatches.
  const std::vector<IntentRecord>& intents() const { return records().intents; }
  /// Returns the planner's decision, or null when it was not recorded. Only stages differ between
  /// layers; layer none asks for any layer. A schedule for one microbatch only is found when
  /// `microbatch` names it, and replaces the schedule for all.
  const ScheduleRecord* schedule(std::int32_t train_step, WorldRank rank, Direction direction,
                                 Layer layer = Layer::none(),
                                 std::optional<std::int32_t> microbatch = {}) const;
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
  /// Returns a rank's shard of a buffer: of the microbatch, if it has its own, or else of all
  /// microbatches. Null when there is none.
  const ShardRecord* findShard(const std::string& buffer, std::int32_t train_step, WorldRank rank,
                               std::optional<std::int32_t> microbatch = {}) const;
  /// Returns a rank's shards that hold for this microbatch only.
  std::vector<const ShardRecord*> findMicrobatchShards(const StepMicrobatch& at,
                                                       WorldRank rank) const;
  /// Returns the recorded bytes of a tensor; nullopt when the capture did not keep them.
  std::optional<Bytes> bytes(const TensorRecord& tensor) const;
  /// Returns the values as doubles in row-major order; nullopt when the capture did not keep them.
  std::optional<std::vector<double>> values(const TensorRecord& tensor) const;

  /// Returns every (training step, layer, direction, ring step) with events, in the order in which
  /// a rank visits them; none when no event has a ring step.
  const std::vector<Place>& moments() const { return records().moments; }
  /// Returns the largest end of any event, in nanoseconds of the run clock.
  std::int64_t endNs() const { return events_->endNs(); }

 private:
  Trace(std::shared_ptr<ChunkSource> source, std::shared_ptr<ProblemList> problems,
        std::shared_ptr<EventStore> events, std::shared_ptr<SharedRecords> records)
      : source_(std::move(source)),
        problems_(std::move(problems)),
        events_(std::move(events)),
        records_(std::move(records)) {}
  const TraceRecords& records() const { return records_->records; }
  TraceRecords& changed();
  void addMoments(std::span<const Event> events);
  std::vector<GroupRecord>::const_iterator findGroup(GroupId id) const;

  std::shared_ptr<ChunkSource> source_;
  std::shared_ptr<ProblemList> problems_;
  std::shared_ptr<EventStore> events_;
  std::shared_ptr<SharedRecords> records_;
};

/// Reads a recording from its source of chunks. Damaged parts are left out and listed in
/// problems().
std::shared_ptr<Trace> readTrace(std::shared_ptr<ChunkSource> source);

/// Converts recorded elements to doubles. Throws inputError when their number does not match the
/// shape.
std::vector<double> decodeValues(const TensorRecord& tensor, const Bytes& bytes);

}  // namespace ringscope::traces
