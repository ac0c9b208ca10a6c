// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/strategies/registry.h"

#include <numeric>

#include "engine/attention/strategies/all_gather.h"
#include "engine/attention/strategies/ring.h"
#include "engine/attention/strategies/ulysses.h"
#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

std::vector<int> ranksFrom(int first, int count, int distance) {
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(first + i * distance);
  return ranks;
}

std::unique_ptr<ContextParallelOp> makeRing(RankContext& context, const StrategyConfig& config, int,
                                            const ShardLayout& layout, const Mask& mask,
                                            const Softmax& softmax) {
  return std::make_unique<RingAttention>(
      context, Group(context.cp, ranksFrom(0, context.cp.size(), 1)), layout, mask, softmax,
      RingOptions{parseRotate(config.rotate), parseOrder(config.order), config.fp8});
}

std::unique_ptr<ContextParallelOp> makeAllGather(RankContext& context, const StrategyConfig& config,
                                                 int, const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& softmax) {
  return std::make_unique<AllGatherAttention>(context,
                                              Group(context.cp, ranksFrom(0, context.cp.size(), 1)),
                                              layout, mask, softmax, config.fp8);
}

/// Neighbouring ranks share heads; KV goes round between those groups.
std::unique_ptr<ContextParallelOp> makeUlysses(RankContext& context, const StrategyConfig& config,
                                               int ulysses, const ShardLayout& layout,
                                               const Mask& mask, const Softmax& softmax) {
  const int rank = context.rank(), inside = rank % ulysses;
  const int rings = context.cp.size() / ulysses;
  auto ring = std::make_unique<RingAttention>(
      context, Group(context.cp, ranksFrom(inside, rings, ulysses)), layout.joined(ulysses), mask,
      softmax, RingOptions{parseRotate(config.rotate), parseOrder(config.order), config.fp8});
  return std::make_unique<UlyssesAttention>(
      context, Group(context.cp, ranksFrom(rank - inside, ulysses, 1)),
      layout.segments(rank - inside, ulysses), std::move(ring));
}

const StrategyEntry& entryOf(const std::string& name) {
  std::string known;
  for (const StrategyEntry& entry : strategies()) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw usageError("there is no strategy '" + name + "'; use " + known);
}

}  // namespace

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> kStrategies = {{"ring", makeRing},
                                                         {"all_gather", makeAllGather},
                                                         {"ulysses", makeUlysses},
                                                         {"hybrid", makeUlysses}};
  return kStrategies;
}

nlohmann::json StrategyConfig::describe(int cp, std::int64_t query_heads) const {
  return {{"strategy", strategy},
          {"ulysses", ulyssesSize(cp, query_heads)},
          {"rotate", rotate},
          {"order", order},
          {"fp8", fp8}};
}

int StrategyConfig::ulyssesSize(int cp, std::int64_t query_heads) const {
  entryOf(strategy);
  if (strategy == "ulysses") return cp;
  if (strategy != "hybrid") return 1;
  int size = ulysses;
  // Unless asked otherwise, as square a split as ranks and heads allow.
  for (int u = 1; ulysses == 0 && u * u <= cp; ++u)
    if (cp % u == 0 && query_heads % u == 0) size = u;
  if (size < 1 || cp % size != 0)
    throw usageError("--ulysses " + std::to_string(size) +
                     " does not divide cp = " + std::to_string(cp) + "; use a divisor of it");
  return size;
}

void checkStrategy(const StrategyConfig& config, int cp, std::int64_t query_heads,
                   std::int64_t kv_heads) {
  parseRotate(config.rotate);
  parseOrder(config.order);
  const int ulysses = config.ulyssesSize(cp, query_heads);
  if (query_heads % ulysses != 0)
    throw usageError(std::to_string(query_heads) + " query heads do not divide among " +
                     std::to_string(ulysses) +
                     " Ulysses ranks; use fewer (--strategy hybrid --ulysses N), or strategy ring");
  if (query_heads % kv_heads != 0)
    throw usageError(std::to_string(query_heads) + " query heads do not divide into " +
                     std::to_string(kv_heads) + " key-value heads");
}

std::unique_ptr<ContextParallelOp> makeAttention(RankContext& context, const StrategyConfig& config,
                                                 const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& softmax, std::int64_t query_heads) {
  return entryOf(config.strategy)
      .make(context, config, config.ulyssesSize(context.cp.size(), query_heads), layout, mask,
            softmax);
}

}  // namespace ringscope::engine
