// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "traces/exchange/import/recording/called.h"
#include "traces/exchange/import/recording/job.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

/// One attention over the ranks of a group, as its lines describe it.
struct RingCall {
  const Line* begin = nullptr;
  std::int64_t steps = 0;  ///< number of ring steps; 0: the attention did not end
  /// The source of the block at each ring step, as the job stated it; empty: PyTorch's ring.
  std::vector<WorldRank> sources;
  std::vector<const Line*> blocks, hops;
};

std::map<std::int64_t, RingCall> ringCalls(const RankLines& rank) {
  std::map<std::int64_t, RingCall> calls;
  for (const Line& line : rank.lines) {
    const std::int64_t number = line.whole("call");
    if (number < 0) continue;
    if (line.kind() == "attention" && line.has("ring")) calls[number].begin = &line;
    if (line.kind() == "attention_end") {
      calls[number].steps = line.whole("ring_steps", 0);
      calls[number].sources = line.ranks("sources");
    }
    if (line.kind() == "block") calls[number].blocks.push_back(&line);
    if (line.kind() == "hop") calls[number].hops.push_back(&line);
  }
  return calls;
}

/// Returns the ring steps at whose end KV is sent on.
std::set<std::int64_t> forwardingSteps(const RingCall& call) {
  std::set<std::int64_t> steps;
  for (const Line* hop : call.hops)
    if (hop->text("payload") == "kv" && hop->flag("moved")) steps.insert(hop->whole("hop") - 1);
  return steps;
}

/// Returns the source of the block at a ring step. In PyTorch's ring it follows from the order of
/// the group.
WorldRank sourceAt(const RingCall& call, const std::vector<WorldRank>& members, std::int64_t step) {
  if (!call.sources.empty())
    return step < std::ssize(call.sources) ? call.sources[static_cast<std::size_t>(step)]
                                           : WorldRank::none();
  const std::int64_t own = call.begin->part("ring").whole("rank");
  const auto size = std::ssize(members);
  if (own < 0 || own >= size) return WorldRank::none();
  return members[static_cast<std::size_t>(((own - step) % size + size) % size)];
}

PieceRecord pieceOf(const Line& block) {
  const auto q = block.wholes("q_rows"), k = block.wholes("k_rows");
  return {q[0], q[1], k[0], k[1], block.flag("causal") ? PieceMask::kCausal : PieceMask::kFull,
          0,    0};
}

/// Returns the stages of a call; nullopt when a block's rows or its source are unknown.
std::optional<std::vector<StageRecord>> findStages(const RingCall& call,
                                                   const std::vector<WorldRank>& members) {
  if (call.steps < 1 || call.steps > kMaxStages) return std::nullopt;
  std::vector<StageRecord> stages;
  const auto forwarding = forwardingSteps(call);
  for (std::int64_t i = 0; i < call.steps; ++i) {
    StageRecord stage;
    stage.ring_step = RingStep::of(i);
    stage.source_rank = sourceAt(call, members, i);
    if (stage.source_rank.isNone()) return std::nullopt;
    stage.forwards_kv = forwarding.contains(i);
    stage.why_empty = WhyEmpty::kFuture;
    stages.push_back(stage);
  }
  for (const Line* block : call.blocks) {
    const std::int64_t step = block->whole("ring_step");
    if (block->wholes("q_rows").size() != 2 || block->wholes("k_rows").size() != 2 || step < 0 ||
        step >= call.steps)
      return std::nullopt;
    StageRecord& stage = stages[static_cast<std::size_t>(step)];
    stage.why_empty = WhyEmpty::kAttends;
    stage.pieces.push_back(pieceOf(*block));
  }
  return stages;
}

/// Reports whether a stage attends nothing because all keys come after all queries, the only reason
/// that can be derived for imported jobs.
bool isFuture(const ShardRecord* own, const ShardRecord* source) {
  if (!own || !source || own->global_from_local.empty() || source->global_from_local.empty())
    return false;
  const auto last = std::ranges::max_element(own->global_from_local, {}, &TokenRun::end);
  const auto first = std::ranges::min_element(source->global_from_local, {}, &TokenRun::begin);
  return first->begin >= last->end;
}

/// Reports whether a call attends a whole sequence of some heads after an all-to-all (Ulysses).
bool turnsHeads(const RingCall& call, const std::vector<WorldRank>& members) {
  const auto own = call.begin->wholes("q_shape");
  if (call.blocks.size() != 1 || own.size() != 4) return false;
  const auto turned = call.blocks.front()->wholes("q_shape");
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // products of such extents do not overflow
  return turned.size() == 4 && members.size() > 1 && turned[1] <= kMost && own[2] <= kMost &&
         turned[1] * std::ssize(members) == own[1] && turned[2] == own[2] * std::ssize(members);
}

/// Adds a rank's tokens as rows. Returns false when they are unknown.
bool addRows(ScheduleRecord& schedule, const ShardRecord* tokens, std::int64_t wanted) {
  if (!tokens) return false;
  std::int64_t rows = 0;
  for (const TokenRun& run : tokens->global_from_local) {
    schedule.rows.push_back({run.begin, run.end - run.begin, 1});
    rows += run.end - run.begin;
    if (rows > wanted) return false;
  }
  return rows == wanted;
}

/// Adds the heads that a rank attends: the `part`-th of `parts` parts.
void addHeads(ScheduleRecord& schedule, std::int64_t q_heads, std::int64_t kv_heads,
              std::int64_t part, std::int64_t parts) {
  schedule.q_head_begin = q_heads / parts * part;
  schedule.q_head_end = schedule.q_head_begin + q_heads / parts;
  const std::int64_t each = std::max<std::int64_t>(kv_heads / parts, 1);
  for (std::int64_t head = 0; head < each; ++head)
    schedule.kv_heads.push_back(part * kv_heads / parts + head);
}

/// Returns the schedule of a call: of the whole training step, or of the call's microbatch only.
std::optional<ScheduleRecord> scheduleFor(const RecordedJob& job, const RankLines& rank,
                                          const RingCall& call, Direction direction,
                                          bool of_microbatch) {
  ScheduleRecord schedule;
  schedule.train_step = call.begin->place(direction).train_step;
  if (of_microbatch) schedule.microbatch = call.begin->microbatch();
  const auto tokens = [&](WorldRank of) {
    return schedule.microbatch
               ? job.tokens(StepMicrobatch{schedule.train_step, *schedule.microbatch}, of)
               : job.tokens(schedule.train_step, of);
  };
  schedule.direction = direction;
  schedule.rank = rank.rank;
  const auto members = rank.findMembers(call.begin->part("ring").text("group"));
  const auto q = call.begin->wholes("q_shape"), k = call.begin->wholes("k_shape");
  if (q.size() != 4 || k.size() != 4 || q[1] > kMaxRanks || k[1] > kMaxRanks) return std::nullopt;
  const bool turned = turnsHeads(call, members);
  schedule.ring = turned ? std::vector{rank.rank} : members;
  schedule.ulysses = turned ? members : std::vector{rank.rank};
  for (const WorldRank member : schedule.ulysses)
    if (!addRows(schedule, tokens(member), q[2])) return std::nullopt;
  const auto seat = std::ranges::find(schedule.ulysses, rank.rank) - schedule.ulysses.begin();
  addHeads(schedule, q[1], k[1], seat, std::ssize(schedule.ulysses));
  auto stages = findStages(call, members);
  if (!stages) return std::nullopt;
  for (const StageRecord& stage : *stages)
    if (stage.why_empty == WhyEmpty::kFuture && !call.sources.empty() &&
        !isFuture(tokens(rank.rank), tokens(stage.source_rank)))
      return std::nullopt;
  schedule.stages = std::move(*stages);
  return schedule;
}

/// The schedules of one rank. Calls of one place that differ leave no schedule.
class RankSchedules {
 public:
  RankSchedules(const RecordedJob& job, const RankLines& rank, bool of_microbatches) {
    for (const auto& [number, call] : ringCalls(rank)) {
      if (!call.begin || call.steps == 0) continue;
      const auto direction = findByName<Direction>(call.begin->text("direction"));
      if (!direction) continue;
      const auto schedule = scheduleFor(job, rank, call, *direction, of_microbatches);
      const StepMicrobatch at{call.begin->place(*direction).train_step,
                              of_microbatches ? call.begin->microbatch() : 0};
      const auto [known, first] = found_.try_emplace({at, *direction}, schedule);
      if (!first && known->second != schedule) known->second.reset();
    }
  }

  /// Adds the schedules of the training steps that `wanted` names, or of all steps when it is null.
  /// Returns the steps of which some are unknown.
  std::set<std::int32_t> addTo(std::vector<ScheduleRecord>& schedules,
                               const std::set<std::int32_t>* wanted) const {
    std::set<std::int32_t> left_out;
    for (const auto& [key, schedule] : found_) {
      const std::int32_t step = key.first.train_step;
      if (wanted && !wanted->contains(step)) continue;
      if (schedule)
        schedules.push_back(*schedule);
      else
        left_out.insert(step);
    }
    return left_out;
  }

 private:
  std::map<std::pair<StepMicrobatch, Direction>, std::optional<ScheduleRecord>> found_;
};

}  // namespace

void addSchedules(RecordedJob& job) {
  for (const RankLines& rank : job.ranks) {
    std::set<std::int32_t> left_out = RankSchedules(job, rank, false).addTo(job.schedules, nullptr);
    if (!left_out.empty() && !job.microbatch_shards.empty())
      left_out = RankSchedules(job, rank, true).addTo(job.schedules, &left_out);
    // Blocks of recognised attention are not known, which its notes say.
    const bool is_recognised = std::ranges::any_of(rank.lines, isRecognised);
    if (!left_out.empty() && !is_recognised)
      job.lacks.push_back("the blocks that rank " + toString(rank.rank) + " attended in " +
                          describeCount(std::ssize(left_out), "training step") + ", first in " +
                          std::to_string(*left_out.begin()) +
                          ", are not alike in all layers, or their rows are not known, or some "
                          "were passed over; their schedule is left out");
  }
}

}  // namespace ringscope::traces
