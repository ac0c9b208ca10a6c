// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/attention/strategies/context_parallel_op.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// A strategy: its name and its factory. To add one, add a file in this folder and a line in
/// registry.cpp.
struct StrategyEntry {
  traces::Strategy strategy;
  std::unique_ptr<ContextParallelOp> (*make)(RankContext& context, const traces::RunSpec& run,
                                             const ShardLayout& layout, const Mask& mask,
                                             const Softmax& softmax);
};
const std::vector<StrategyEntry>& strategies();

/// Makes the strategy of this run over all cp ranks of the context. Throws usageError.
std::unique_ptr<ContextParallelOp> makeAttention(RankContext& context, const traces::RunSpec& run,
                                                 const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& softmax);

/// Records this rank's schedules, valid from `train_step` on.
void recordSchedules(RankContext& context, const traces::RunSpec& run, const ShardLayout& layout,
                     const Mask& mask, std::int32_t train_step);

}  // namespace ringscope::engine
