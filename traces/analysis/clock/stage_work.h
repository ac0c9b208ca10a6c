// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "traces/analysis/clock/hardware.h"
#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// A kind of stage in one direction.
using Stage = std::pair<EventKind, Direction>;

/// The work of one stage of a rank, or of several such stages together.
struct StageWork {
  double flops = 0;         ///< floating-point operations of matrix products
  double memory_bytes = 0;  ///< traffic of everything that is not a matrix product
  double stages = 1;        ///< the number of stages whose work this is

  StageWork& operator+=(const StageWork& more);
  double multiplyAdds() const { return flops / 2; }
};

/// The cost of one kind of stage in seconds. None is negative.
struct StageCost {
  double fixed = 0, per_byte = 0, per_multiply_add = 0;
  /// The standard deviation of the recorded times from this cost, relative to those times. nullopt:
  /// unknown, because there were not more recorded times than costs to fit.
  std::optional<double> spread{};

  double seconds(const StageWork& work) const;
};

/// The rates that a device reaches, per second. A stage takes its operations ÷ their rate plus its
/// memory traffic ÷ the memory's rate.
struct DeviceSpeed {
  std::string name = "custom";
  double matmul_flops = 0;  ///< of projections, the MLP and the logits
  double attention_flops = 0, attention_backward_flops = 0;
  double memory_bytes = 0;
  std::map<Stage, StageCost> measured{};  ///< where not empty, replaces the rates (calibration.h)

  /// Throws usageError for a kind of stage that was not measured.
  double seconds(const Stage& stage, const StageWork& work) const;
  /// Returns the share of that time that is memory traffic, by the rates; 0 without traffic.
  double memoryShare(const Stage& stage, const StageWork& work) const;

 private:
  double flopsSeconds(const Stage& stage, const StageWork& work) const;
  double memorySeconds(const StageWork& work) const;
};

/// Returns the speed of a device at a share of its peak in the type of `run`. Its memory reaches
/// the same share.
DeviceSpeed deviceSpeed(const DeviceRates& device, const RunSpec& run, double efficiency);

/// Returns the operations of attending so many pairs, over all heads: 4·head_dim per pair. Backward
/// takes 2.5 times that, because scores are computed again (FlashAttention-2, arXiv:2307.08691,
/// section 4.1).
double attentionFlops(Direction direction, double pairs, std::int64_t head_dim);

/// Returns the least number of kernels that a GPU starts for one recorded event of this kind. Each
/// matrix product is a kernel, and so is each pass over a tensor, with fusible passes fused. With
/// `recompute` the backward pass of the feed-forward stage computes its layer again.
double stageKernels(EventKind kind, Direction direction, bool recompute);

}  // namespace ringscope::traces
