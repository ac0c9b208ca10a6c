// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/data/batch_layout.h"
#include "engine/verify/error_measure.h"
#include "engine/verify/step_verifier.h"

namespace ringscope::engine {

/// Returns references and limits for a parameter's gradient. The first reference is the exact step.
/// The second is the exact step with the run's own attention in place. The second is absent for
/// sinks, in fp64, and if it contains NaN. The `variances` are the expected attention errors of
/// each layer. `summing` is the result of summingErrors(); undefined means unknown.
std::vector<HeldTo> gradientReferences(const std::string& name,
                                       const StepVerifier::Unsharded& unsharded,
                                       const std::vector<AttentionVariance>& variances,
                                       const at::Tensor& summing = {});

/// Returns the mean square error per row of summing a parameter's gradient over all ranks in their
/// order. Each partial sum is rounded, with a root mean square error of 0.41·u of its size. A
/// partial sum can be far larger than the result. Returns an undefined tensor if a rank has no
/// gradient of its own.
at::Tensor summingErrors(const std::string& name, const std::vector<RankStep>& ranks);

/// Compares logits, loss, gradients, gradient norm and rotary embedding with the unsharded step.
/// Everything that it refers to must outlive it.
struct StepEnds {
  std::int32_t train_step;
  const BatchLayout& layout;
  const std::vector<RankStep>& ranks;
  const Batch& batch;
  const StepVerifier::Unsharded& unsharded;
  const std::vector<AttentionVariance>& variances;  ///< one per layer

  /// Compares the ranks' cos and sin with fp64 values for the positions of the batch. The unsharded
  /// steps use the angles as the run rounds them, so their rounding is judged here.
  traces::DiffRecord rotary(const LlamaConfig& config, at::ScalarType type) const;
  /// Compares the ranks' logits with the exact step.
  traces::DiffRecord logits() const;
  /// Compares the logged loss with the exact step and with the loss of the run's own logits.
  traces::DiffRecord loss(double logged) const;
  /// Returns one diff per parameter, layers included. Each cp rank has the worst ratio of its dp
  /// ranks.
  std::vector<traces::DiffRecord> gradients() const;
  /// Compares the logged gradient norm, before clipping, with the exact norm.
  traces::DiffRecord gradientNorm(double logged) const;
};

}  // namespace ringscope::engine
