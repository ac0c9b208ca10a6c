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
#include "traces/format/storage/chunk_source.h"
#include "traces/format/trace/ending.h"
#include "traces/format/trace/hang.h"

namespace ringscope::traces {

/// A recorded job: the content of its rank files, and the records made from it. The functions below
/// fill it in the order in which they are declared.
struct RecordedJob {
  std::string folder;
  std::vector<RankLines> ranks;
  std::vector<std::int64_t> shifts;  ///< per file: nanoseconds to add, so that all files have one
                                     ///< clock
  std::shared_ptr<RecordedValues> values;

  RunSpec run;
  /// The intention that the job declared, or that its model's configuration implies.
  std::optional<Line> declared;
  std::vector<GroupRecord> groups;
  /// Ranks share the sequences of different microbatches with different ranks. Groups and tokens
  /// are recorded for each microbatch then, and none for a whole training step.
  bool changes_groups = false;
  std::vector<GroupRecord> microbatch_groups;
  std::vector<IntentRecord> intents;
  std::vector<ShardRecord> shards;
  std::vector<ShardRecord> microbatch_shards;  ///< where microbatches of a training step differ
  std::vector<ScheduleRecord> schedules;
  std::vector<TensorRecord> tensors;
  /// The readers of the tensors' values, by tensor id. A reader throws inputError when the values
  /// are damaged.
  std::map<std::int64_t, std::function<Bytes()>> kept;
  std::vector<Event> events;
  std::vector<MemorySample> memory;
  std::vector<Note> notes;
  std::vector<std::string> problems;  ///< damage
  std::vector<std::string> lacks;     ///< what the job did not let the recorder see

  /// Adds a shard. Returns false when this rank already has a shard of that buffer at that training
  /// step.
  bool addShard(ShardRecord shard);
  /// Compares a shard with the same buffer's shard of an earlier microbatch. If only their tokens
  /// differ, the training step as a whole has no tokens; leaves them out then, and returns true.
  bool forgetOtherTokens(const ShardRecord& later);
  /// Adds a shard of one microbatch.
  void addMicrobatchShard(ShardRecord shard);
  /// Returns the indices of a rank's shards at a training step.
  const std::vector<std::size_t>& shardsFor(std::int32_t train_step, WorldRank rank) const;
  /// Returns the shard of this buffer, or null.
  const ShardRecord* shard(const std::string& buffer, std::int32_t train_step,
                           WorldRank rank) const;
  /// Returns a shard with the tokens of a rank at a training step, from any of its buffers, or
  /// null.
  const ShardRecord* tokens(std::int32_t train_step, WorldRank rank) const;
  /// Returns a shard with the tokens of a rank in a microbatch that differs from others, or null.
  const ShardRecord* tokens(const StepMicrobatch& at, WorldRank rank) const;

 private:
  std::map<std::pair<std::int32_t, WorldRank>, std::vector<std::size_t>> shards_of_;
  std::map<std::pair<StepMicrobatch, WorldRank>, std::vector<std::size_t>> microbatch_shards_of_;
};

/// Adds what was observed of PyTorch's context_parallel: backwards outside of it, and buffers that
/// it refused.
void addContext(RecordedJob& job);
/// Adds the losses of evaluations, and losses that are added to the cross entropy.
void addOtherLosses(RecordedJob& job);
/// Removes picked log-probabilities that backward does not reach, and those beside a cross entropy.
void leaveOutUnusedPicks(RankLines& rank);
/// Removes the losses that a checkpoint computed again in backward, and their tensors, from
/// microbatches whose forward pass has losses that backward reaches.
void leaveOutRecomputedLosses(RankLines& rank);
/// Removes the lines of forward passes that backward does not reach from training steps that have
/// others: an evaluation between two steps is no part of either.
void leaveOutEvaluations(RankLines& rank);
/// Removes the rotary tables of each microbatch but those of one name, which is the same on all
/// ranks. Removes all if those of one name differ: models call several in any order.
void leaveOutOtherTables(RankLines& rank);
/// Marks the losses of heads that predict later tokens, and removes their logits. The targets of
/// the other loss are the labels.
void markFurtherLosses(RecordedJob& job);
/// Reports whether a line is a loss that was marked so.
bool isOfFurtherHead(const Line& loss);
/// Adds the counts by which each rank divides what becomes its loss, and the variables that it
/// normalised by its own tokens.
void addOwnAverages(RecordedJob& job);
/// Adds the merges of partial attention outputs, the causal convolutions and the scattered features
/// of each rank.
void addObservedParts(RecordedJob& job);
/// Adds the losses that each rank called.
void addCalledLosses(RecordedJob& job);
/// Adds the parameters of one name that ranks do not hold as replicas of each other.
void addOwnParameters(RecordedJob& job);
/// Adds the types that each rank asserted of its tensors by spmd_types.
void addAssertedTypes(RecordedJob& job);
/// Joins gradients and weights that ranks recorded in parts, when all parts exist. Each of these
/// ranks gets the whole tensor. Its hash and values follow from those of the parts.
void joinParts(RecordedJob& job);
/// Names one group of the ranks that share a sequence in lines of recognised attention that
/// communicates within several groups, as Ulysses around a ring does. Removes the hops of these
/// lines.
void joinAttentionGroups(RecordedJob& job);
/// Adds the shard of the token ids of each rank whose job named no buffers and whose attention over
/// shards was recognised. Its tokens are those of the layout in which each target is the token that
/// follows. Other sources, in this order, are position ids of one sequence, targets that show any
/// other order, and the order in which attention has the tokens. Adds nothing when none decides.
/// Targets also say that attention is causal, if its calls do not, and which parts of its group
/// share a sequence.
void addOwnLayout(RecordedJob& job);
/// Adds the shards of variables that a job cut along the tokens by itself, in whichever order,
/// where the layout of its token ids is known. Leaves out a variable that it cut in several ways.
void addCutVariables(RecordedJob& job);
/// Adds dp, tp, cp and their groups: from the mesh whose axis was passed to context_parallel, or
/// else from the process groups that the job named.
void addMesh(RecordedJob& job);
/// The names of the buffers that one rank cut. A buffer has the name that rules know when its use
/// was seen: the token embedding takes input_ids, the loss takes labels, and the model is given
/// position_ids. Every other buffer keeps the job's name.
class BufferNames {
 public:
  explicit BufferNames(const RankLines& rank);
  std::string nameFor(const Line& buffer) const;

 private:
  std::map<std::string, std::string> known_;  // by the job's name
};

/// Adds the buffers that were cut, with names from BufferNames.
void addShards(RecordedJob& job);
/// Adds the buffers of each microbatch of the training steps whose microbatches differ. A buffer
/// belongs to the microbatches whose attention over the buffer's group was called after the cut and
/// before the next cut of the buffer.
void addMicrobatchShards(RecordedJob& job);
/// Adds ring steps from the blocks that were attended, for each microbatch where these differ; none
/// when layers differ.
void addSchedules(RecordedJob& job);
/// Adds the declared intention, the arguments of attention, and sizes.
void addRun(RecordedJob& job);
/// Adds tensors that have a place in the schema, and the loss of each rank.
void addTensors(RecordedJob& job);
/// Adds blocks, merges, hops, collectives and clipping.
void addEvents(RecordedJob& job);
/// Adds the memory that each rank held by category, and the rest.
void addMemory(RecordedJob& job);
/// Returns the text of the note kAttentionNote.
std::string attentionFacts(const RecordedJob& job);
/// Opens a recorded job. `add` adds what other files of the folder say of it, before its notes are
/// made.
std::shared_ptr<ChunkSource> openRecording(const std::string& folder,
                                           const std::function<void(RecordedJob&)>& add);
/// Adds what was logged, and who made the recording.
void addNotes(RecordedJob& job);
/// Returns how a rank's recording ended, from its last line.
Ending findEnding(const RankLines& rank);
/// Returns the number of training steps from 0 on that every rank recorded to the end; 0 when no
/// step ended on all ranks, or a rank's file is missing.
std::int32_t countWholeSteps(const RecordedJob& job);
/// Returns which ranks waited for which when the recording of an unfinished job was cut: from the
/// last lines of its ranks, and from a listener's verdict. A listener's file that cannot be read is
/// reported in the job's problems.
std::vector<Hang> hangsIn(RecordedJob& job);
/// Reports whether a rank failed, and not because a wait for another rank ended in an error.
bool failedByItself(const RankLines& rank);
/// Returns the end of a sentence which says that all ranks made progress until the recording was
/// cut; empty when the recording does not show that.
std::string whyNoHang(const RecordedJob& job);
/// The file of a recording's folder that holds a listener's verdicts.
inline constexpr const char* kListenerFile = "listener.jsonl";
/// Removes records that the read model would reject. A rejected record would make its whole chunk
/// unreadable (traces/format/trace/admission.h).
void leaveOutImpossible(RecordedJob& job);

}  // namespace ringscope::traces
