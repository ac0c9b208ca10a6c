// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/trace.h"

#include <algorithm>

#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {

Trace::Trace(std::shared_ptr<ChunkSource> source)
    : source_(std::move(source)),
      problems_(std::make_shared<ProblemList>()),
      events_(std::make_shared<EventStore>(source_, problems_)),
      records_(std::make_shared<SharedRecords>(TraceRecords())) {}

std::shared_ptr<Trace> Trace::snapshot() const {
  records_->lent = true;
  auto problems = problems_->copy();
  auto events = events_->snapshot(problems);
  return std::shared_ptr<Trace>(
      new Trace(source_, std::move(problems), std::move(events), records_));
}

/// Returns the records to change them. Copies them first if a snapshot has them too.
TraceRecords& Trace::changed() {
  if (records_->lent) records_ = std::make_shared<SharedRecords>(records_->records);
  return records_->records;
}

namespace {

template <typename Records>
void admitAll(const Records& records) {
  for (const auto& record : records) admit(record);
}

}  // namespace

void Trace::expect(const ChunkInfo& chunk) {
  admit(chunk.summary.value(), chunk.rows);
  events_->expect(chunk);
}

void Trace::readEvents() {
  const std::size_t claimed = eventCount();
  events_->decodeAll();
  if (records().moments_corrections != events_->corrections()) updateMoments();
  if (end() && eventCount() < claimed)
    addProblem("events are missing: " + std::to_string(claimed) + " were recorded, " +
               std::to_string(eventCount()) + " are readable");
}

void Trace::updateMoments() {
  TraceRecords& records = changed();
  records.moments_corrections = events_->corrections();
  records.moments = events_->moments();
}

void Trace::addMoments(std::span<const Event> added) {
  std::vector<Place> places;
  for (const Event& event : added)
    if (event.place.stage.exists() && (places.empty() || !(places.back() == event.place)))
      places.push_back(event.place);
  if (places.empty()) return;
  std::ranges::sort(places, before);
  std::vector<Place>& moments = changed().moments;
  // New places are nearly always the last ones or close to them, since ranks are never far apart.
  const auto from = std::lower_bound(moments.begin(), moments.end(), places.front(), before);
  std::vector<Place> merged;
  std::set_union(from, moments.end(), places.begin(), places.end(), std::back_inserter(merged),
                 before);
  merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
  moments.erase(from, moments.end());
  moments.insert(moments.end(), merged.begin(), merged.end());
}

void Trace::add(const Chunk& chunk) {
  auto each = [&](auto records) {
    for (auto& record : records) add(std::move(record));
  };
  switch (chunk.kind) {
    case ChunkKind::kEvents:
      return add(std::span<const Event>(decodeRows<Event>(chunk)));
    case ChunkKind::kTimes:
      return add(std::span<const TimesRecord>(decodeRows<TimesRecord>(chunk)));
    case ChunkKind::kTensors:
      return add(decodeRows<TensorRecord>(chunk));
    case ChunkKind::kValues:
      return addValues(tensorIdFrom(chunk), chunk.body);
    case ChunkKind::kMemory:
      return add(std::span<const MemorySample>(decodeRows<MemorySample>(chunk)));
    case ChunkKind::kShards:
      return each(decodeRows<ShardRecord>(chunk));
    case ChunkKind::kDiffs:
      return each(decodeRows<DiffRecord>(chunk));
    case ChunkKind::kNotes:
      return each(decodeRows<Note>(chunk));
    case ChunkKind::kRun:
      return add(decodeOne<RunSpec>(chunk));
    case ChunkKind::kIntent:
      return each(decodeRows<IntentRecord>(chunk));
    case ChunkKind::kGroups:
      return each(decodeRows<GroupRecord>(chunk));
    case ChunkKind::kSchedule:
      return each(decodeRows<ScheduleRecord>(chunk));
    case ChunkKind::kEnd:
      return add(decodeOne<EndRecord>(chunk));
    case ChunkKind::kSummaries:  // the chunks themselves say more
    case ChunkKind::kCount:
      return;
  }
}

void Trace::add(DiffRecord diff) {
  admit(diff);
  changed().diffs.push_back(std::move(diff));
}

void Trace::add(RunSpec run) {
  admit(run);
  for (std::string* text :
       {&run.capture, &run.model_dir, &run.tokens, &run.tokenizer, &run.model.name})
    *text = toPlainText(*text);
  run.separator = toUtf8(run.separator);  // toPlainText would replace line ends
  for (std::string& path : run.text) path = toPlainText(path);
  changed().run = std::move(run);
}

void Trace::add(IntentRecord intent) {
  admit(intent);
  TraceRecords& records = changed();
  (intent.microbatch ? records.microbatch_intents : records.intents).push_back(std::move(intent));
}

void Trace::add(std::span<const Event> events) {
  admitAll(events);
  events_->add(events);
  addMoments(events);
}

void Trace::add(std::span<const TimesRecord> all) {
  admitAll(all);
  for (const TimesRecord& times : all) events_->add(times);
}

void Trace::add(std::vector<TensorRecord> tensors) {
  admitAll(tensors);
  TraceRecords& records = changed();
  for (auto& tensor : tensors) {
    if (!records.tensor_index.try_emplace(tensor, records.tensors.size()).second)
      addProblem("two tensors are recorded as " + describe(static_cast<const TensorKey&>(tensor)) +
                 "; the first is shown");
    records.tensors.push_back(std::move(tensor));
  }
}

void Trace::add(std::span<const MemorySample> samples) {
  admitAll(samples);
  auto& memory = changed().memory;
  for (const MemorySample& sample : samples) {
    events_->makeRoomFor(sample.rank);
    if (sample.rank.index() >= memory.size()) memory.resize(sample.rank.index() + 1);
    memory[sample.rank.index()].push_back(sample);
  }
}

void Trace::add(ShardRecord shard) {
  admit(shard);
  TraceRecords& records = changed();
  if (shard.microbatch) {
    const StepMicrobatch at{shard.train_step, *shard.microbatch};
    records.microbatch_shard_index[{at, shard.rank}].push_back(records.microbatch_shards.size());
    records.microbatch_shards.push_back(std::move(shard));
    return;
  }
  records.shard_index.try_emplace({shard.buffer, shard.train_step, shard.rank.value()},
                                  records.shards.size());
  records.shards.push_back(std::move(shard));
}

void Trace::add(const Note& note) {
  admit(note);
  TraceRecords& records = changed();
  records.notes.emplace_back(note.key,
                             parseJson(note.json, "the note '" + note.key + "' of the trace"));
  records.raw_notes.push_back(note);
}

void Trace::add(ScheduleRecord schedule) {
  admit(schedule);
  TraceRecords& records = changed();
  const TraceRecords::RankPass of_rank{schedule.rank.value(), schedule.direction};
  if (schedule.microbatch) {
    const StepMicrobatch at{schedule.train_step, *schedule.microbatch};
    records.microbatch_schedules[{of_rank, at}].push_back(std::move(schedule));
    return;
  }
  records.schedule_index[of_rank][schedule.train_step].push_back(records.schedules.size());
  records.schedules.push_back(std::move(schedule));
}

void Trace::addValues(TensorId tensor, Bytes values) {
  changed().kept_values[tensor.value()] = std::make_shared<const Bytes>(std::move(values));
}

void Trace::add(GroupRecord group) {
  admit(group);
  TraceRecords& records = changed();
  if (records.groups.size() + records.microbatch_groups.size() >= kMaxGroups)
    throw inputError("the trace has more than " + std::to_string(kMaxGroups) + " groups of ranks");
  if (!group.microbatches.empty()) {
    for (const WorldRank member : group.members) events_->makeRoomFor(member);
    records.microbatch_groups.push_back(std::move(group));
    return;
  }
  const auto at = findGroup(group.id);
  const bool known = at != records.groups.end() && at->id == group.id;
  for (const WorldRank member : group.members)
    if (const GroupRecord* other = groupContaining(member, group.axis);
        other && other->id != group.id && group.axis != GroupAxis::kOther)
      throw inputError("rank " + toString(member) + " is in two groups of the axis " +
                       name(group.axis));
  if (known)
    for (const WorldRank member : at->members)
      if (groupContaining(member, at->axis) == &*at) records.group_index.erase({at->axis, member});
  for (const WorldRank member : group.members) {
    records.group_index.try_emplace({group.axis, member}, group.id);
    events_->makeRoomFor(member);
  }
  if (known)
    records.groups[static_cast<std::size_t>(at - records.groups.begin())] = std::move(group);
  else
    records.groups.insert(at, std::move(group));
}

}  // namespace ringscope::traces
