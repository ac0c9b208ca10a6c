// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/planned_schedule.h"

#include <algorithm>

#include "traces/plan/head_split.h"

namespace ringscope::traces {
namespace {

/// Converts ranks of the cp group to world ranks.
std::vector<WorldRank> worldRanks(const PlannedAttention& p,
                                  const std::vector<GroupRank>& cp_ranks) {
  const auto cp_group = p.mesh.cpGroup(p.world_rank);
  std::vector<WorldRank> ranks;
  ranks.reserve(cp_ranks.size());
  for (const GroupRank rank : cp_ranks) ranks.push_back(cp_group[rank.index()]);
  return ranks;
}

/// Sets the heads of the model that the rank attends: its tp rank's part, and of that its Ulysses
/// share.
void setHeads(ScheduleRecord& record, const PlannedAttention& p, int ulysses) {
  const MeshPlace at = p.mesh.placeFor(p.world_rank);
  const std::int64_t queries = p.query_heads / p.mesh.tp;
  const std::int64_t keys = std::max<std::int64_t>(1, p.kv_heads / p.mesh.tp);
  const GroupRank share = HybridPlace::of(at.cp, ulysses).among_neighbours;
  const HeadSplit split = HeadSplit::of(queries, keys, ulysses);
  record.q_head_begin = at.tp.value() * queries + share.value() * split.query_heads;
  record.q_head_end = record.q_head_begin + split.query_heads;
  // With fewer KV heads than tp ranks, several tp ranks hold the same KV head.
  const std::int64_t first_key = at.tp.value() * p.kv_heads / p.mesh.tp;
  for (const std::int64_t head : split.kv_heads[share.index()])
    record.kv_heads.push_back(first_key + head);
}

std::vector<PieceRecord> records(const std::vector<Piece>& pieces) {
  return {pieces.begin(), pieces.end()};
}

}  // namespace

std::vector<ScheduleRecord> plannedSchedules(const PlannedAttention& p, std::int32_t train_step) {
  const bool alone = p.layout.cpSize() == 1;
  const GroupRank seat = p.mesh.placeFor(p.world_rank).cp;
  const int ulysses = alone ? 1 : p.ulysses, rings = p.layout.cpSize() / ulysses;
  const HybridPlace here = HybridPlace::of(seat, ulysses);
  const GroupRank ring_rank = alone ? GroupRank::of(0) : here.in_ring;
  // Joining may merge two runs that touch into one, which changes the pieces. So shards are joined
  // only where the ranks really join them, or when one rank has the whole sequence, whose runs all
  // touch.
  const ShardLayout attended = p.joins_shards || alone ? p.layout.joined(ulysses) : p.layout;
  ScheduleRecord common;
  common.train_step = train_step;
  common.rank = p.world_rank;
  common.ring =
      worldRanks(p, alone ? std::vector{seat} : ranksFrom(here.among_neighbours, rings, ulysses));
  common.ulysses = worldRanks(p, ranksFrom(here.first_neighbour, ulysses));
  common.rows = attended.shard(ring_rank);
  setHeads(common, p, ulysses);
  std::vector<ScheduleRecord> both;
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const RingSchedule schedule = direction == Direction::kForward || p.all_gather
                                      ? ringSchedule(attended, p.mask, ring_rank)
                                      : ringBackwardSchedule(attended, p.mask, ring_rank, p.order);
    ScheduleRecord record = common;
    record.direction = direction;
    for (const RingStage& stage : schedule.stages)
      record.stages.push_back(
          {p.all_gather ? RingStep::of(0) : stage.ring_step, common.ring[stage.source_rank.index()],
           stage.forwards_kv && !p.all_gather,
           whyEmpty(attended, p.mask, ring_rank, stage.source_rank), records(stage.pieces)});
    both.push_back(std::move(record));
  }
  return both;
}

}  // namespace ringscope::traces
