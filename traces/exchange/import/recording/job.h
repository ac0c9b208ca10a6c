// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "traces/exchange/import/recording/rank_file.h"
#include "traces/exchange/import/recording/values.h"
#include "traces/format/schema/groups.h"
#include "traces/format/schema/intent.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"
#include "traces/format/schema/schedule_record.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/hang.h"

namespace ringscope::traces {

/// A recorded job as its rank files have it, and what is made of it. The parts below fill it in
/// the order in which they stand here.
struct RecordedJob {
  std::string folder;
  std::vector<RankLines> ranks;
  std::vector<std::int64_t> shifts;  ///< of each file: what makes its times those of one clock
  std::shared_ptr<RecordedValues> values;

  RunSpec run;
  /// What the job said that it means to do, or its model's configuration says.
  std::optional<Line> declared;
  std::vector<GroupRecord> groups;
  std::vector<IntentRecord> intents;
  std::vector<ShardRecord> shards;
  std::vector<ScheduleRecord> schedules;
  std::vector<TensorRecord> tensors;
  /// What reads a tensor's values, by tensor; it throws inputError where they are damaged.
  std::map<std::int64_t, std::function<Bytes()>> kept;
  std::vector<Event> events;
  std::vector<MemorySample> memory;
  std::vector<Note> notes;
  std::vector<std::string> problems;

  /// False where this rank has one of that buffer at that training step already.
  bool addShard(ShardRecord shard);
  /// Those of a rank at a training step, as indices.
  const std::vector<std::size_t>& shardsOf(std::int32_t train_step, WorldRank rank) const;
  /// A shard of this buffer, or null.
  const ShardRecord* shard(const std::string& buffer, std::int32_t train_step,
                           WorldRank rank) const;
  /// The tokens of a rank at a training step by any of its buffers, or null.
  const ShardRecord* tokens(std::int32_t train_step, WorldRank rank) const;

 private:
  std::map<std::pair<std::int32_t, WorldRank>, std::vector<std::size_t>> shards_of_;
};

/// Gradients and weights that ranks recorded in parts become the whole ones on each of these ranks,
/// where all parts are there; hashes and values of the whole follow from those of the parts.
void joinParts(RecordedJob& job);
/// dp, tp, cp and their groups, from the mesh whose axis was given to context_parallel, else from
/// the process groups that the job named.
void addMesh(RecordedJob& job);
/// Names the buffers that one rank cut. A buffer has the name that rules know where its use was
/// seen: the token embedding takes input_ids, the loss takes labels, and the model is given
/// position_ids. Every other buffer keeps the job's name.
class BufferNames {
 public:
  explicit BufferNames(const RankLines& rank);
  std::string nameOf(const Line& buffer) const;

 private:
  std::map<std::string, std::string> known_;  // by the job's name
};

/// Adds the buffers that were cut, under their names by BufferNames.
void addShards(RecordedJob& job);
/// Ring steps as blocks were attended; nothing where layers differ.
void addSchedules(RecordedJob& job);
/// What was declared, what attention was called with, and sizes.
void addRun(RecordedJob& job);
/// Tensors with a place in the schema, and the loss of each rank.
void addTensors(RecordedJob& job);
/// Blocks, merges, hops, collectives and clipping.
void addEvents(RecordedJob& job);
/// What each rank held, by category, and what it had beyond that.
void addMemory(RecordedJob& job);
/// What was logged, and by whom the recording was made.
void addNotes(RecordedJob& job);
/// How a rank's recording ended, by its last line.
Ending endingOf(const RankLines& rank);
/// Who waited for whom when the recording of a job that did not end was cut: what follows from the
/// last lines of its ranks, and what a listener concluded. A listener's file that cannot be read
/// is said in the job's problems.
std::vector<Hang> hangsIn(RecordedJob& job);
/// That all ranks got on until the recording was cut, as the end of a sentence; empty where the
/// recording does not tell.
std::string whyNoHang(const RecordedJob& job);
/// The file of a recording's folder that holds what a listener concluded.
inline constexpr const char* kListenerFile = "listener.jsonl";
/// Takes out records that the read model would refuse, and with them all that is in their chunk
/// (traces/format/trace/admission.h).
void leaveOutImpossible(RecordedJob& job);

}  // namespace ringscope::traces
