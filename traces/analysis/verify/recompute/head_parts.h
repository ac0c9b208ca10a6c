// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/scalar_check.h"
#include "traces/analysis/verify/recompute/step_tensors.h"

namespace ringscope::traces {

/// The recorded gradient of the output projection after the sync, and the contribution of each
/// rank's tokens to it. With logits = y·Wᵀ and grad = dlogitsᵀ·y, for any y,
///   grad·Wᵀ = Σ over tokens of dlogitsᵀ·logits,  dlogits = (softmax(logits) − label) / targets.
/// Only some rows and columns of these matrices are computed, because a few are enough.
struct HeadParts {
  /// One rank per tp group among the ranks that have tokens of their own.
  struct Owner {
    WorldRank rank;
    std::int64_t targets = 0;
    std::optional<std::size_t> cp_rank;  ///< nullopt: its cp group is not recorded
  };
  /// The part of the vocabulary that one rank of each tp group holds.
  struct Slice {
    std::vector<WorldRank> ranks;               ///< per owner: the rank of its tp group that holds
                                                ///< the slice
    std::vector<std::vector<double>> products;  ///< their grad·Wᵀ; empty: not recorded
    std::vector<std::vector<double>> parts;     ///< contribution of each owner's tokens
  };
  std::string parameter;
  double rounding = 0;  ///< share of the larger side's 2-norm that rounding explains, as measured
  std::vector<Owner> owners;
  std::vector<Slice> slices;
  std::string open;   ///< reason why the gradient may have other parts too; empty: it has none
  bool alike = true;  ///< all recorded gradients of a slice are equal

  double targets() const;
};

/// Returns the parts of a step. Throws MissingTensor, and inputError when values are damaged.
HeadParts headParts(const Trace& trace, std::int32_t train_step);

/// Compares that gradient with the sum of all parts. Throws inputError when values are damaged.
GradientCheck checkGradient(const Trace& trace, std::int32_t train_step);

/// The factor with which the gradient of an owner counts the part of another owner; 1 is correct.
using PartWeights = std::function<double(std::size_t slice, std::size_t owner, std::size_t part)>;

/// The largest difference of recorded gradients from sums of parts, as a share of the larger side's
/// 2-norm.
struct ShareOff {
  double share = 0;
  WorldRank rank;  ///< rank whose gradient differs most
};
ShareOff worstShareOff(const HeadParts& head, const PartWeights& weights);
/// Returns how far sums with these weights are from the correct sums, for the owner with the
/// largest difference.
double shareFromMeant(const HeadParts& head, const PartWeights& weights);

}  // namespace ringscope::traces
