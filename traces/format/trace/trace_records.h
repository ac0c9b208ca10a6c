// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/format/schema/chunk.h"

namespace ringscope::traces {

/// All records of a trace except its events, with the indexes that find them.
struct TraceRecords {
  struct KeyBefore {
    bool operator()(const TensorKey& a, const TensorKey& b) const { return keyBefore(a, b); }
  };
  using RankPass = std::pair<WorldRank::Value, Direction>;

  std::vector<Place> moments;
  std::uint64_t moments_corrections = 0;  ///< EventStore::corrections() that moments include
  std::vector<std::vector<MemorySample>> memory;  ///< by rank
  std::vector<TensorRecord> tensors;
  std::map<TensorKey, std::size_t, KeyBefore> tensor_index;
  std::vector<ShardRecord> shards;
  std::map<std::tuple<std::string, std::int32_t, std::int32_t>, std::size_t> shard_index;
  std::vector<DiffRecord> diffs;
  std::vector<Note> raw_notes;
  std::vector<std::pair<std::string, nlohmann::json>> notes;
  std::optional<RunSpec> run;
  std::vector<GroupRecord> groups;  ///< ascending by id
  std::map<std::pair<GroupAxis, WorldRank>, GroupId> group_index;
  std::vector<IntentRecord> intents;
  std::vector<ScheduleRecord> schedules;
  /// By training step, one for each mask of the layers.
  std::map<RankPass, std::map<std::int32_t, std::vector<std::size_t>>> schedule_index;
  // Records that hold for some microbatches only.
  std::map<std::pair<RankPass, StepMicrobatch>, std::vector<ScheduleRecord>> microbatch_schedules;
  std::vector<GroupRecord> microbatch_groups;
  std::vector<IntentRecord> microbatch_intents;
  std::vector<ShardRecord> microbatch_shards;
  std::map<std::pair<StepMicrobatch, WorldRank>, std::vector<std::size_t>> microbatch_shard_index;
  std::map<std::int64_t, std::shared_ptr<const Bytes>> kept_values;  ///< by tensor
  std::optional<EndRecord> end;
};

/// Records that a trace shares with its snapshots.
struct SharedRecords {
  explicit SharedRecords(TraceRecords those) : records(std::move(those)) {}

  TraceRecords records;
  /// Reports whether a snapshot was taken, so that the records must not change any more.
  std::atomic<bool> lent = false;
};

}  // namespace ringscope::traces
