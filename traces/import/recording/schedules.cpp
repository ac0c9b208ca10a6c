// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "traces/import/recording/job.h"
#include "traces/query/admission.h"

namespace ringscope::traces {
namespace {

/// One attention of PyTorch's ring, as its lines have it.
struct RingCall {
  const Line* begin = nullptr;
  std::int64_t steps = 0;  ///< ring steps; 0: it did not end
  std::vector<const Line*> blocks, hops;
};

std::map<std::int64_t, RingCall> ringCalls(const RankLines& rank) {
  std::map<std::int64_t, RingCall> calls;
  for (const Line& line : rank.lines) {
    const std::int64_t number = line.whole("call");
    if (number < 0) continue;
    if (line.kind() == "attention" && line.has("ring")) calls[number].begin = &line;
    if (line.kind() == "attention_end") calls[number].steps = line.whole("ring_steps", 0);
    if (line.kind() == "block") calls[number].blocks.push_back(&line);
    if (line.kind() == "hop") calls[number].hops.push_back(&line);
  }
  return calls;
}

std::vector<WorldRank> membersOf(const RankLines& rank, const std::string& group) {
  std::vector<WorldRank> members;
  for (const Line& line : rank.lines)
    if (line.kind() == "group" && line.text("name") == group)
      for (const std::int64_t member : line.wholes("members"))
        members.push_back(WorldRank::of(std::min<std::int64_t>(member, kMaxRanks)));
  return members;
}

bool forwards(const RingCall& call, std::int64_t ring_step) {
  return std::ranges::any_of(call.hops, [&](const Line* hop) {
    return hop->text("payload") == "kv" && hop->flag("moved") && hop->whole("hop") == ring_step + 1;
  });
}

/// Nothing where a block's rows are not known.
std::optional<std::vector<StageRecord>> stagesOf(const RingCall& call,
                                                 const std::vector<WorldRank>& members) {
  const std::int64_t own = call.begin->part("ring").whole("rank");
  const auto size = static_cast<std::int64_t>(members.size());
  if (own < 0 || own >= size || call.steps < 1 || call.steps > kMaxStages) return std::nullopt;
  std::vector<StageRecord> stages;
  for (std::int64_t i = 0; i < call.steps; ++i) {
    StageRecord stage;
    stage.ring_step = RingStep::of(i);
    stage.source_rank = members[static_cast<std::size_t>(((own - i) % size + size) % size)];
    stage.forwards_kv = forwards(call, i);
    stage.why_empty = WhyEmpty::kFuture;  // the one reason for which PyTorch's ring skips a block
    stages.push_back(stage);
  }
  for (const Line* block : call.blocks) {
    const auto q = block->wholes("q_rows"), k = block->wholes("k_rows");
    const std::int64_t step = block->whole("ring_step");
    if (q.size() != 2 || k.size() != 2 || step < 0 || step >= call.steps) return std::nullopt;
    StageRecord& stage = stages[static_cast<std::size_t>(step)];
    stage.why_empty = WhyEmpty::kAttends;
    stage.pieces.push_back({q[0], q[1], k[0], k[1],
                            block->flag("causal") ? PieceMask::kCausal : PieceMask::kFull, 0, 0});
  }
  return stages;
}

std::optional<ScheduleRecord> scheduleOf(const RecordedJob& job, const RankLines& rank,
                                         const RingCall& call, Direction direction) {
  ScheduleRecord schedule;
  schedule.train_step = call.begin->place(direction).train_step;
  schedule.direction = direction;
  schedule.rank = rank.rank;
  schedule.ring = membersOf(rank, call.begin->part("ring").text("group"));
  schedule.ulysses = {schedule.rank};
  const ShardRecord* tokens = job.tokens(schedule.train_step, rank.rank);
  const auto q = call.begin->wholes("q_shape"), k = call.begin->wholes("k_shape");
  if (!tokens || q.size() != 4 || k.size() != 4 || k[1] > kMaxRanks) return std::nullopt;
  std::int64_t rows = 0;
  for (const TokenRun& run : tokens->global_from_local) {
    schedule.rows.push_back({run.begin, run.end - run.begin, 1});
    rows += run.end - run.begin;
  }
  if (rows != q[2]) return std::nullopt;
  schedule.q_head_end = q[1];
  for (std::int64_t head = 0; head < k[1]; ++head) schedule.kv_heads.push_back(head);
  auto stages = stagesOf(call, schedule.ring);
  if (!stages) return std::nullopt;
  schedule.stages = std::move(*stages);
  return schedule;
}

}  // namespace

void addSchedules(RecordedJob& job) {
  for (const RankLines& rank : job.ranks) {
    std::map<std::pair<std::int32_t, Direction>, std::optional<ScheduleRecord>> found;
    for (const auto& [number, call] : ringCalls(rank)) {
      if (!call.begin || call.steps == 0) continue;
      const auto direction = findByName<Direction>(call.begin->text("direction"));
      if (!direction) continue;
      const auto schedule = scheduleOf(job, rank, call, *direction);
      const auto key = std::pair(call.begin->place(*direction).train_step, *direction);
      const auto [at, first] = found.try_emplace(key, schedule);
      if (!first && at->second != schedule) at->second.reset();
    }
    for (const auto& [key, schedule] : found)
      if (schedule)
        job.schedules.push_back(*schedule);
      else
        job.problems.push_back("the blocks that rank " + toString(rank.rank) +
                               " attended in training step " + std::to_string(key.first) +
                               " are not alike in all layers, or their rows are not known; its "
                               "schedule is left out");
  }
}

}  // namespace ringscope::traces
