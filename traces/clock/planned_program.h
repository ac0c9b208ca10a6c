// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/clock/hardware.h"
#include "traces/clock/model_sizes.h"
#include "traces/clock/program.h"
#include "traces/schema/run_spec.h"

namespace ringscope::traces {

/// How quick a device really is. Stages are work ÷ rate or traffic ÷ memory rate, whichever takes
/// longer, plus the time to start them.
struct DeviceSpeed {
  std::string name;
  double matmul_flops = 0;              ///< a second, of projections, MLP and logits
  double attention_flops = 0;           ///< a second, forward
  double attention_backward_flops = 0;  ///< a second, backward
  double memory_bytes = 0;              ///< a second
  double stage_seconds = 0;             ///< to start a stage
};

/// A device at `efficiency` of its peak in the type of `run`; memory at the same share.
DeviceSpeed speedOf(const DeviceRates& device, const RunSpec& run, double efficiency);

/// Floating-point operations and bytes of one stage of a rank.
struct StageWork {
  double matmul_flops = 0, attention_flops = 0, attention_backward_flops = 0, memory_bytes = 0;
  double seconds(const DeviceSpeed& device) const;
};

/// One training step of `run` with a model of these sizes, planned without a recording: causal,
/// full or window masks, every strategy, rotation, order and balance that run_rules.h allows. The
/// ranks of one cp group take part; those of other dp and tp ranks do the same at the same time,
/// and count in collectives. Throws usageError for a run that cannot be, and for documents, which
/// only a recording knows.
Program plannedProgram(const RunSpec& run, const ModelSizes& sizes, const DeviceSpeed& device);

/// (query, key) pairs that each rank of the cp group attends of the block of each other, by the
/// definition of the balances and masks: pairs[rank][source].
std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run);

}  // namespace ringscope::traces
