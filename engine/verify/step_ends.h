// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch_layout.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/step_verifier.h"

namespace ringscope::engine {

/// Returns the references of a parameter's gradient, end to end. The first is the exact step. The
/// second is the exact step around the run's attention, if that gave numbers. It is left out for
/// sinks and in fp64. The `variances` are the expected errors of each layer's attention. `summing`
/// are the mean square errors per row of the sum over ranks; undefined means unknown.
std::vector<HeldTo> gradientHeldTo(const std::string& name,
                                   const StepVerifier::Unsharded& unsharded,
                                   const std::vector<AttentionVariance>& variances,
                                   const at::Tensor& summing = {});

/// Returns the mean square errors per row of summing a parameter's gradient over all ranks in their
/// order. Each partial sum adds 0.41·u of itself, and can be far larger than the result. Undefined
/// if the ranks handed in no gradients of their own.
at::Tensor sumRoundings(const std::string& name, const std::vector<RankStep>& ranks);

/// Compares the parts of a training step outside its layers with the unsharded step, end to end.
struct StepEnds {
  std::int32_t train_step;
  const BatchLayout& layout;
  const std::vector<RankStep>& ranks;
  const Batch& batch;
  const StepVerifier::Unsharded& unsharded;
  const std::vector<AttentionVariance>& variances;  ///< of each layer

  /// cos and sin of the positions that the batch has, against fp64. The unsharded steps use the
  /// angles as the run rounds them, so this is where their rounding is judged.
  traces::DiffRecord rotary(const LlamaConfig& config, at::ScalarType type) const;
  traces::DiffRecord logits() const;
  traces::DiffRecord loss(double logged) const;
  /// Returns a diff per parameter. Each cp rank has the worst ratio of its dp ranks.
  std::vector<traces::DiffRecord> gradients() const;
  /// The norm before clipping.
  traces::DiffRecord gradientNorm(double logged) const;
};

}  // namespace ringscope::engine
