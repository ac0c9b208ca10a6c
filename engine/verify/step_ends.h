// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch_layout.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/step_verifier.h"

namespace ringscope::engine {

/// What a parameter's gradient is held to, end to end: the exact step, and, but for attention's own
/// sinks and in fp64, the exact step around the run's attention where that gave numbers.
/// `variances`: what each layer's attention is expected to round. `summing`: the mean squares of
/// what summing over ranks rounds in each row; undefined: unknown.
std::vector<HeldTo> gradientHeldTo(const std::string& name,
                                   const StepVerifier::Unsharded& unsharded,
                                   const std::vector<AttentionVariance>& variances,
                                   const at::Tensor& summing = {});

/// The mean squares of what summing a parameter's gradient over all ranks, in their order, rounds
/// in each row: 0.41·u of each partial sum, which can be far larger than the end. Undefined where
/// the ranks handed in no gradients of their own.
at::Tensor sumRoundings(const std::string& name, const std::vector<RankStep>& ranks);

/// What a training step has outside its layers, compared end to end with the unsharded step.
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
  /// Of each parameter; of each cp rank the worst of its dp ranks.
  std::vector<traces::DiffRecord> gradients() const;
  /// The norm before clipping.
  traces::DiffRecord gradientNorm(double logged) const;
};

}  // namespace ringscope::engine
