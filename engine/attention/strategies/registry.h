// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "engine/attention/strategies/context_parallel_op.h"

namespace ringscope::engine {

/// How attention is shared by the cp ranks.
struct StrategyConfig {
  std::string strategy = "ring";  ///< a name of strategies()
  int ulysses = 0;                ///< hybrid: ranks that share heads; 0: chosen
  std::string rotate = "p2p";
  std::string order = "diagonal_first";
  bool fp8 = false;  ///< KV on the wire as e4m3, q rounded to e4m3

  /// How recordings name these settings.
  nlohmann::json describe(int cp, std::int64_t query_heads) const;
  /// Ranks that share heads: 1 for ring and all_gather, cp for ulysses. Throws usageError when cp
  /// cannot be split so.
  int ulyssesSize(int cp, std::int64_t query_heads) const;
};

/// A strategy: its name and how it is made. A new one is a file in this folder and a line in
/// registry.cpp.
struct StrategyEntry {
  std::string name;
  std::unique_ptr<ContextParallelOp> (*make)(RankContext& context, const StrategyConfig& config,
                                             int ulysses, const ShardLayout& layout,
                                             const Mask& mask, const Softmax& softmax);
};
const std::vector<StrategyEntry>& strategies();

/// The strategy of this configuration over all cp ranks of the context. Throws usageError.
std::unique_ptr<ContextParallelOp> makeAttention(RankContext& context, const StrategyConfig& config,
                                                 const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& softmax, std::int64_t query_heads);

/// Refuses what cannot work with the reason, before anything starts. Throws usageError.
void checkStrategy(const StrategyConfig& config, int cp, std::int64_t query_heads,
                   std::int64_t kv_heads);

}  // namespace ringscope::engine
