// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/scalar_check.h"
#include "traces/analysis/verify/recompute/step_tensors.h"

namespace ringscope::traces {

/// The recorded gradient of the output projection after the sync, and what the tokens of each rank
/// give of it. With logits = y·Wᵀ and grad = dlogitsᵀ·y, whatever y is,
///   grad·Wᵀ = Σ over tokens of dlogitsᵀ·logits,  dlogits = (softmax(logits) − label) / targets.
/// Some rows and columns of these matrices are taken: a few tell.
struct HeadParts {
  /// A rank of each tp group among those that have tokens of their own.
  struct Owner {
    WorldRank rank;
    std::int64_t targets = 0;
    std::optional<std::size_t> cp_rank;  ///< nothing: its cp group is not recorded
  };
  /// Of the vocabulary, as one rank of each tp group holds it.
  struct Slice {
    std::vector<WorldRank> ranks;               ///< of each owner's tp group, who holds it
    std::vector<std::vector<double>> products;  ///< their grad·Wᵀ; empty: not recorded
    std::vector<std::vector<double>> parts;     ///< what follows from each owner's tokens
  };
  std::string parameter;
  double rounding =
      0;  ///< the share of the larger side's 2-norm that rounding explains, as measured
  std::vector<Owner> owners;
  std::vector<Slice> slices;
  bool alike = true;  ///< all recorded gradients of a slice are

  double targets() const;
};

/// Throws MissingTensor, and inputError when values are damaged.
HeadParts headParts(const Trace& trace, std::int32_t train_step);

/// That gradient against the sum of all parts. Throws inputError when values are damaged.
GradientCheck checkGradient(const Trace& trace, std::int32_t train_step);

/// How often the gradient that an owner has counts the part of another: 1 as it is meant.
using PartWeights = std::function<double(std::size_t slice, std::size_t owner, std::size_t part)>;

/// Recorded gradients against sums of parts, as a share of the larger one's 2-norm.
struct ShareOff {
  double share = 0;
  WorldRank rank;  ///< whose gradient is furthest off
};
ShareOff worstShareOff(const HeadParts& head, const PartWeights& weights);
/// How far sums with these weights are from those that are meant, for the owner furthest off.
double shareFromMeant(const HeadParts& head, const PartWeights& weights);

}  // namespace ringscope::traces
