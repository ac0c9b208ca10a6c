// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/registry.h"

#include <numeric>

#include "engine/attention/strategies/all_gather.h"
#include "engine/attention/strategies/ring.h"
#include "engine/attention/strategies/ulysses.h"
#include "engine/attention/strategies/whole.h"
#include "engine/plan.h"
#include "traces/format/core/error.h"
#include "traces/format/schema/names.h"
#include "traces/plan/run_rules.h"

namespace ringscope::engine {
namespace {

/// Returns the group of the given cp ranks, after the seam has changed it.
Group groupFor(RankContext& context, std::vector<GroupRank> cp_ranks) {
  return context.seams.ring.group(context.seamPlace({context.place.train_step}), context.groups,
                                  std::move(cp_ranks));
}

ShardLayout attendedLayout(const RankContext& context, const ShardLayout& layout) {
  ShardLayout attended = layout;
  context.seams.attention.layout(context.seamPlace({context.place.train_step}), attended);
  return attended;
}

std::unique_ptr<ContextParallelOp> makeRing(RankContext& context, const traces::RunSpec& run,
                                            const ShardLayout& layout, const Mask& mask,
                                            const Softmax& softmax) {
  return std::make_unique<RingAttention>(context, groupFor(context, everyRank(context.cp.size())),
                                         layout, mask, softmax,
                                         RingOptions{run.rotate, run.order, run.fp8, run.p2p});
}

std::unique_ptr<ContextParallelOp> makeAllGather(RankContext& context, const traces::RunSpec& run,
                                                 const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& softmax) {
  return std::make_unique<AllGatherAttention>(
      context, groupFor(context, everyRank(context.cp.size())), layout, mask, softmax, run.fp8);
}

/// Makes attention in which neighbouring ranks share heads, and KV rotates between the groups.
std::unique_ptr<ContextParallelOp> makeUlysses(RankContext& context, const traces::RunSpec& run,
                                               const ShardLayout& layout, const Mask& mask,
                                               const Softmax& softmax) {
  const int ulysses = traces::ulyssesSize(run);
  const HybridPlace here = HybridPlace::of(context.rank(), ulysses);
  const int rings = context.cp.size() / ulysses;
  auto ring = std::make_unique<RingAttention>(
      context, groupFor(context, ranksFrom(here.among_neighbours, rings, ulysses)),
      layout.joined(ulysses), mask, softmax,
      RingOptions{
          run.rotate, run.order, run.fp8, run.p2p, {here.among_neighbours.value(), ulysses}});
  return std::make_unique<UlyssesAttention>(
      context, groupFor(context, ranksFrom(here.first_neighbour, ulysses)),
      layout.segments(here.first_neighbour, ulysses), std::move(ring));
}

}  // namespace

void recordSchedules(RankContext& context, const traces::RunSpec& run, const ShardLayout& layout,
                     const Mask& mask, std::int32_t train_step, const std::vector<Layer>& layers) {
  if (!context.observer.recording()) return;
  const PlannedAttention planned{attendedLayout(context, layout),
                                 mask,
                                 context.groups.mesh(),
                                 context.worldRank(),
                                 traces::ulyssesSize(run),
                                 traces::sharing(run.strategy) == traces::Sharing::kGathersBlocks,
                                 traces::joinsShards(run),
                                 run.order,
                                 run.model.heads,
                                 run.model.kv_heads};
  for (auto& schedule : plannedSchedules(planned, train_step)) {
    schedule.layers = layers;
    context.observer.record(schedule);
  }
}

std::unique_ptr<ContextParallelOp> makeAttention(RankContext& context, const traces::RunSpec& run,
                                                 const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& scores) {
  Softmax softmax = scores;
  softmax.kernel = run.kernel;
  const ShardLayout attended = attendedLayout(context, layout);
  if (attended.cpSize() == 1)
    return std::make_unique<WholeAttention>(context, attended, mask, softmax, run.fp8);
  switch (traces::sharing(run.strategy)) {
    case traces::Sharing::kGathersBlocks:
      return makeAllGather(context, run, attended, mask, softmax);
    case traces::Sharing::kSharesHeads:
      return makeUlysses(context, run, attended, mask, softmax);
    case traces::Sharing::kRotatesBlocks:
      break;
  }
  return makeRing(context, run, attended, mask, softmax);
}

}  // namespace ringscope::engine
