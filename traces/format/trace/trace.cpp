// SPDX-License-Identifier: Apache-2.0
#include "traces/format/trace/trace.h"

#include <algorithm>

#include "traces/format/core/json.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {

Trace::Trace(std::shared_ptr<ChunkSource> source) : source_(std::move(source)), events_(source_) {}

namespace {

template <typename Records>
void admitAll(const Records& records) {
  for (const auto& record : records) admit(record);
}

}  // namespace

void Trace::listProblem(std::string_view sentence) const {
  constexpr std::size_t kMostListed = 50;
  if (problems_.size() < kMostListed) return problems_.push_back(toPlainText(sentence));
  if (unlisted_problems_++ == 0) problems_.emplace_back();
  problems_.back() = std::to_string(unlisted_problems_) + " more problems are not listed";
}

void Trace::addFirstProblem(std::string_view sentence) {
  problems_.insert(problems_.begin(), toPlainText(sentence));
}

void Trace::expect(const ChunkInfo& chunk) {
  admit(chunk.summary.value(), chunk.rows);
  events_.expect(chunk);
}

void Trace::readEvents() {
  const std::size_t claimed = eventCount();
  events_.decodeAll();
  if (end_ && eventCount() < claimed)
    addProblem("events are missing: " + std::to_string(claimed) + " were recorded, " +
               std::to_string(eventCount()) + " are readable");
}

const std::vector<std::string>& Trace::problems() const {
  for (const std::string& sentence : events_.takeProblems()) listProblem(sentence);
  return problems_;
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
  diffs_.push_back(std::move(diff));
}

void Trace::add(RunSpec run) {
  admit(run);
  for (std::string* text :
       {&run.capture, &run.model_dir, &run.tokens, &run.tokenizer, &run.model.name})
    *text = toPlainText(*text);
  run.separator = toUtf8(run.separator);  // toPlainText would replace line ends
  for (std::string& path : run.text) path = toPlainText(path);
  run_ = std::move(run);
}

void Trace::add(IntentRecord intent) {
  admit(intent);
  intents_.push_back(std::move(intent));
}

void Trace::add(std::span<const Event> events) {
  admitAll(events);
  events_.add(events);
}

void Trace::add(std::span<const TimesRecord> all) {
  admitAll(all);
  for (const TimesRecord& times : all) events_.add(times);
}

void Trace::add(std::vector<TensorRecord> tensors) {
  admitAll(tensors);
  for (auto& tensor : tensors) {
    if (!tensor_index_.try_emplace(tensor, tensors_.size()).second)
      addProblem("two tensors are recorded as " + describe(static_cast<const TensorKey&>(tensor)) +
                 "; the first is shown");
    tensors_.push_back(std::move(tensor));
  }
}

void Trace::add(std::span<const MemorySample> samples) {
  admitAll(samples);
  for (const MemorySample& sample : samples) {
    events_.makeRoomFor(sample.rank);
    if (sample.rank.index() >= memory_.size()) memory_.resize(sample.rank.index() + 1);
    memory_[sample.rank.index()].push_back(sample);
  }
}

void Trace::add(ShardRecord shard) {
  admit(shard);
  shard_index_.try_emplace({shard.buffer, shard.train_step, shard.rank.value()}, shards_.size());
  shards_.push_back(std::move(shard));
}

void Trace::add(const Note& note) {
  admit(note);
  notes_.emplace_back(note.key, parseJson(note.json, "the note '" + note.key + "' of the trace"));
  raw_notes_.push_back(note);
}

void Trace::add(ScheduleRecord schedule) {
  admit(schedule);
  schedule_index_[{schedule.rank, schedule.direction}][schedule.train_step] = schedules_.size();
  schedules_.push_back(std::move(schedule));
}

void Trace::addValues(TensorId tensor, Bytes values) {
  kept_values_[tensor.value()] = std::move(values);
}

void Trace::add(GroupRecord group) {
  admit(group);
  if (groups_.size() == kMaxGroups)
    throw inputError("the trace has more than " + std::to_string(kMaxGroups) + " groups of ranks");
  const auto at = findGroup(group.id);
  const bool known = at != groups_.end() && at->id == group.id;
  for (const WorldRank member : group.members)
    if (const GroupRecord* other = groupContaining(member, group.axis);
        other && other->id != group.id && group.axis != GroupAxis::kOther)
      throw inputError("rank " + toString(member) + " is in two groups of the axis " +
                       name(group.axis));
  if (known)
    for (const WorldRank member : at->members)
      if (groupContaining(member, at->axis) == &*at) group_index_.erase({at->axis, member});
  for (const WorldRank member : group.members) {
    group_index_.try_emplace({group.axis, member}, group.id);
    events_.makeRoomFor(member);
  }
  if (known)
    groups_[static_cast<std::size_t>(at - groups_.begin())] = std::move(group);
  else
    groups_.insert(at, std::move(group));
}

/// Returns the first group with this id or a larger one.
std::vector<GroupRecord>::const_iterator Trace::findGroup(GroupId id) const {
  return std::ranges::lower_bound(groups_, id.value(), {},
                                  [](const GroupRecord& group) { return group.id.value(); });
}

const GroupRecord* Trace::groupContaining(WorldRank rank, GroupAxis axis) const {
  const auto found = group_index_.find({axis, rank});
  return found == group_index_.end() ? nullptr : &*findGroup(found->second);
}

const IntentRecord* Trace::intent(std::int32_t train_step, WorldRank rank) const {
  const IntentRecord* latest = nullptr;
  for (const IntentRecord& intent : intents_) {
    const bool concerns =
        intent.ranks.empty() ||
        std::find(intent.ranks.begin(), intent.ranks.end(), rank) != intent.ranks.end();
    if (concerns && intent.train_step <= train_step &&
        (!latest || intent.train_step >= latest->train_step))
      latest = &intent;
  }
  // Documents differ in every step, and the damaged chunk may have held this step's intent.
  const bool may_be_old = latest && latest->train_step < train_step && !latest->documents.empty();
  return may_be_old && !problems().empty() ? nullptr : latest;
}

const ScheduleRecord* Trace::schedule(std::int32_t train_step, WorldRank rank,
                                      Direction direction) const {
  const auto of_rank = schedule_index_.find({rank, direction});
  if (of_rank == schedule_index_.end()) return nullptr;
  const auto after = of_rank->second.upper_bound(train_step);
  if (after == of_rank->second.begin()) return nullptr;
  const ScheduleRecord& latest = schedules_[std::prev(after)->second];
  // As in intent(): with documents each step is planned anew.
  const bool may_be_old =
      latest.train_step < train_step && !problems().empty() &&
      std::ranges::any_of(intents_, [](const auto& intent) { return !intent.documents.empty(); });
  return may_be_old ? nullptr : &latest;
}

std::vector<const StageRecord*> Trace::stagesAt(const Place& place, WorldRank rank) const {
  std::vector<const StageRecord*> stages;
  if (const ScheduleRecord* of_rank = schedule(place.train_step, rank, place.direction))
    for (const StageRecord& stage : of_rank->stages)
      if (stage.ring_step == place.stage) stages.push_back(&stage);
  return stages;
}

const std::vector<MemorySample>& Trace::memory(WorldRank rank) const {
  static const std::vector<MemorySample> kNone;
  return rank.exists() && rank.index() < memory_.size() ? memory_[rank.index()] : kNone;
}

const nlohmann::json& Trace::note(const std::string& key) const {
  static const nlohmann::json kNull;
  const auto at =
      std::find_if(notes_.rbegin(), notes_.rend(), [&](auto& n) { return n.first == key; });
  return at == notes_.rend() ? kNull : at->second;
}

std::vector<const nlohmann::json*> Trace::notes(const std::string& key) const {
  std::vector<const nlohmann::json*> found;
  for (const auto& [name, json] : notes_)
    if (name == key) found.push_back(&json);
  return found;
}

const TensorRecord* Trace::findTensor(const TensorKey& key) const {
  const auto found = tensor_index_.find(key);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

std::vector<const TensorRecord*> Trace::tensorsAt(const TensorName& tensor, const Place& place,
                                                  WorldRank rank) const {
  // The index is ordered by place, rank and kind first, so these tensors are adjacent.
  TensorKey first{tensor, place};
  first.rank = rank;
  first.tensor.name.clear();
  first.microbatch = std::numeric_limits<std::int32_t>::min();
  std::vector<const TensorRecord*> found;
  for (auto at = tensor_index_.lower_bound(first);
       at != tensor_index_.end() && at->first.place == place && at->first.rank == rank &&
       at->first.tensor.kind == tensor.kind;
       ++at)
    if (at->first.tensor.name == tensor.name) found.push_back(&tensors_[at->second]);
  std::sort(found.begin(), found.end());
  return found;
}

const TensorRecord* Trace::findTensor(const TensorName& tensor, const Place& place,
                                      WorldRank rank) const {
  const auto found = tensorsAt(tensor, place, rank);
  return found.empty() ? nullptr : found.front();
}

const ShardRecord* Trace::findShard(const std::string& buffer, std::int32_t train_step,
                                    WorldRank rank) const {
  const auto found = shard_index_.find({buffer, train_step, rank.value()});
  return found == shard_index_.end() ? nullptr : &shards_[found->second];
}

std::optional<Bytes> Trace::bytes(const TensorRecord& tensor) const {
  if (!tensor.has_values) return std::nullopt;
  const auto kept = kept_values_.find(tensor.id.value());
  if (kept != kept_values_.end()) return kept->second;
  return source_ ? source_->values(tensor.id) : std::nullopt;
}

std::optional<std::vector<double>> Trace::values(const TensorRecord& tensor) const {
  const auto recorded = bytes(tensor);
  if (!recorded) return std::nullopt;
  return decodeValues(tensor, *recorded);
}

}  // namespace ringscope::traces
