// SPDX-License-Identifier: Apache-2.0
// Look-ups of records.
#include <algorithm>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns the first group with this id or a larger one.
std::vector<GroupRecord>::const_iterator Trace::findGroup(GroupId id) const {
  return std::ranges::lower_bound(records().groups, id.value(), {},
                                  [](const GroupRecord& group) { return group.id.value(); });
}

const GroupRecord* Trace::groupContaining(WorldRank rank, GroupAxis axis) const {
  const auto found = records().group_index.find({axis, rank});
  return found == records().group_index.end() ? nullptr : &*findGroup(found->second);
}

namespace {

/// Reports whether a record with these layers, where empty means all layers, concerns a layer.
/// Every record concerns layer none.
bool concernsLayer(const std::vector<Layer>& layers, Layer layer) {
  return layers.empty() || layer.isNone() || std::ranges::find(layers, layer) != layers.end();
}

}  // namespace

const IntentRecord* Trace::intent(std::int32_t train_step, WorldRank rank, Layer layer,
                                  std::optional<std::int32_t> microbatch) const {
  const auto concerns = [&](const IntentRecord& intent) {
    return concernsLayer(intent.layers, layer) &&
           (intent.ranks.empty() || std::ranges::find(intent.ranks, rank) != intent.ranks.end());
  };
  if (microbatch)
    for (const IntentRecord& intent : records().microbatch_intents)
      if (intent.train_step == train_step && intent.microbatch == microbatch && concerns(intent))
        return &intent;
  const IntentRecord* latest = nullptr;
  for (const IntentRecord& intent : records().intents)
    if (concerns(intent) && intent.train_step <= train_step &&
        (!latest || intent.train_step >= latest->train_step))
      latest = &intent;
  // Documents differ in every step, and the damaged chunk may have held this step's intent.
  const bool may_be_old = latest && latest->train_step < train_step && !latest->documents.empty();
  return may_be_old && !problems_->empty() ? nullptr : latest;
}

const ScheduleRecord* Trace::schedule(std::int32_t train_step, WorldRank rank, Direction direction,
                                      Layer layer, std::optional<std::int32_t> microbatch) const {
  const TraceRecords::RankPass key{rank.value(), direction};
  if (microbatch) {
    const auto own = records().microbatch_schedules.find({key, {train_step, *microbatch}});
    if (own != records().microbatch_schedules.end())
      for (const ScheduleRecord& schedule : own->second)
        if (concernsLayer(schedule.layers, layer)) return &schedule;
  }
  const auto of_rank = records().schedule_index.find(key);
  if (of_rank == records().schedule_index.end()) return nullptr;
  const auto after = of_rank->second.upper_bound(train_step);
  if (after == of_rank->second.begin()) return nullptr;
  // The last record of a step replaces earlier ones of the same layers.
  const std::vector<std::size_t>& of_step = std::prev(after)->second;
  const auto found = std::find_if(of_step.rbegin(), of_step.rend(), [&](std::size_t index) {
    return concernsLayer(records().schedules[index].layers, layer);
  });
  if (found == of_step.rend()) return nullptr;
  const ScheduleRecord& latest = records().schedules[*found];
  // As in intent(): with documents each step is planned anew.
  const bool may_be_old = latest.train_step < train_step && !problems_->empty() &&
                          std::ranges::any_of(records().intents, [](const auto& intent) {
                            return !intent.documents.empty();
                          });
  return may_be_old ? nullptr : &latest;
}

std::vector<const StageRecord*> Trace::stagesAt(const Place& place, WorldRank rank) const {
  std::vector<const StageRecord*> stages;
  if (const ScheduleRecord* of_rank =
          schedule(place.train_step, rank, place.direction, place.layer))
    for (const StageRecord& stage : of_rank->stages)
      if (stage.ring_step == place.stage) stages.push_back(&stage);
  return stages;
}

const std::vector<MemorySample>& Trace::memory(WorldRank rank) const {
  static const std::vector<MemorySample> kNone;
  const auto& memory = records().memory;
  return rank.exists() && rank.index() < memory.size() ? memory[rank.index()] : kNone;
}

const nlohmann::json& Trace::note(const std::string& key) const {
  static const nlohmann::json kNull;
  const auto at = std::find_if(records().notes.rbegin(), records().notes.rend(),
                               [&](auto& n) { return n.first == key; });
  return at == records().notes.rend() ? kNull : at->second;
}

std::vector<const nlohmann::json*> Trace::notes(const std::string& key) const {
  std::vector<const nlohmann::json*> found;
  for (const auto& [name, json] : records().notes)
    if (name == key) found.push_back(&json);
  return found;
}

const TensorRecord* Trace::findTensor(const TensorKey& key) const {
  const auto found = records().tensor_index.find(key);
  return found == records().tensor_index.end() ? nullptr : &tensors()[found->second];
}

std::vector<const TensorRecord*> Trace::tensorsAt(const TensorName& tensor, const Place& place,
                                                  WorldRank rank) const {
  // The index is ordered by place, rank and kind first, so these tensors are adjacent.
  TensorKey first{tensor, place};
  first.rank = rank;
  first.tensor.name.clear();
  first.microbatch = std::numeric_limits<std::int32_t>::min();
  std::vector<const TensorRecord*> found;
  for (auto at = records().tensor_index.lower_bound(first);
       at != records().tensor_index.end() && at->first.place == place && at->first.rank == rank &&
       at->first.tensor.kind == tensor.kind;
       ++at)
    if (at->first.tensor.name == tensor.name) found.push_back(&tensors()[at->second]);
  std::sort(found.begin(), found.end());
  return found;
}

const TensorRecord* Trace::findTensor(const TensorName& tensor, const Place& place,
                                      WorldRank rank) const {
  const auto found = tensorsAt(tensor, place, rank);
  return found.empty() ? nullptr : found.front();
}

std::vector<const ShardRecord*> Trace::findMicrobatchShards(const StepMicrobatch& at,
                                                            WorldRank rank) const {
  std::vector<const ShardRecord*> shards;
  const auto found = records().microbatch_shard_index.find({at, rank});
  if (found == records().microbatch_shard_index.end()) return shards;
  for (const std::size_t index : found->second) shards.push_back(&microbatchShards()[index]);
  return shards;
}

const ShardRecord* Trace::findShard(const std::string& buffer, std::int32_t train_step,
                                    WorldRank rank, std::optional<std::int32_t> microbatch) const {
  if (microbatch)
    for (const ShardRecord* own : findMicrobatchShards({train_step, *microbatch}, rank))
      if (own->buffer == buffer) return own;
  const auto found = records().shard_index.find({buffer, train_step, rank.value()});
  return found == records().shard_index.end() ? nullptr : &shards()[found->second];
}

std::optional<Bytes> Trace::bytes(const TensorRecord& tensor) const {
  if (!tensor.has_values) return std::nullopt;
  const auto kept = records().kept_values.find(tensor.id.value());
  if (kept != records().kept_values.end()) return *kept->second;
  return source_ ? source_->values(tensor.id) : std::nullopt;
}

std::optional<std::vector<double>> Trace::values(const TensorRecord& tensor) const {
  const auto recorded = bytes(tensor);
  if (!recorded) return std::nullopt;
  return decodeValues(tensor, *recorded);
}

}  // namespace ringscope::traces
