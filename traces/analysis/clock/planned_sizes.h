// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "traces/analysis/clock/model_sizes.h"
#include "traces/analysis/clock/stage_work.h"
#include "traces/plan/layer_plan.h"

namespace ringscope::traces {

/// The work and messages of one rank in a training step, derived from the sizes of the model.
///
/// Projections, MLP and logits take 2 operations per parameter and token, and twice that in
/// backward.
///
/// Gradients, dK, dV and sums of the loss travel in fp32. KV, heads and activations travel in the
/// type of the run.
class PlannedSizes {
 public:
  PlannedSizes(const RunSpec& run, const ModelSizes& sizes);

  StageWork project(Direction direction) const;
  StageWork feedForward(Direction direction) const;
  StageWork embed(Direction direction) const;
  StageWork loss(Direction direction) const;
  /// Returns the work of attending one block, in which each head has so many pairs.
  StageWork attend(Direction direction, std::int64_t pairs) const;
  /// `first`: the block's result becomes the running result, and is only converted.
  StageWork merge(bool first) const;
  /// Returns the work of adding dK and dV of so many blocks.
  StageWork mergeGradients(int blocks) const;
  StageWork gradSync() const { return passOverGradients(2); }  ///< into one message and out
  StageWork clip() const { return passOverGradients(1); }
  /// AdamW reads gradient, weight and both moments, and writes all but the gradient.
  StageWork optimizer() const { return passOverGradients(7); }

  /// Returns the size of one message of attention.
  std::int64_t messageBytes(Cargo cargo) const;
  std::int64_t activationBytes() const;  ///< of one all-reduce of tensor parallelism
  std::int64_t tokenSumBytes() const;    ///< of one number per token, in the type of sums
  std::int64_t gradientBytes() const;    ///< of the gradient sync

 private:
  StageWork passOverGradients(double passes) const;

  ModelSizes part_;                                   ///< of one tp rank
  std::int64_t tokens_ = 0, sequences_ = 1;           ///< of one rank; tokens of all its sequences
  std::int64_t query_heads_ = 0, key_heads_ = 0;      ///< that a rank attends, after Ulysses
  std::int64_t ulysses_ = 1, element_ = 4, sum_ = 4;  ///< bytes of the run's type and of sums
  bool fp8_ = false, recompute_ = false;
};

}  // namespace ringscope::traces
