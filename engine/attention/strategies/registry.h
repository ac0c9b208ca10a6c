// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "engine/attention/strategies/context_parallel_op.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::engine {

/// Makes the executor of this run's strategy over all cp ranks of the context. An executor exists
/// for each way of sharing attention (traces/plan/strategy.h). Throws usageError.
std::unique_ptr<ContextParallelOp> makeAttention(RankContext& context, const traces::RunSpec& run,
                                                 const ShardLayout& layout, const Mask& mask,
                                                 const Softmax& softmax);

/// Records this rank's schedules of these layers (none: of all layers), valid from `train_step` on.
void recordSchedules(RankContext& context, const traces::RunSpec& run, const ShardLayout& layout,
                     const Mask& mask, std::int32_t train_step,
                     const std::vector<Layer>& layers = {});

}  // namespace ringscope::engine
