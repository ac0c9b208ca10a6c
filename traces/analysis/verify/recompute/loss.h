// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/scalar_check.h"

namespace ringscope::traces {

/// Cross entropy of some tokens, and how far rounding may bring a right one from it.
struct LossSum {
  double sum = 0;            ///< of −log softmax(logits)[label], over the targets
  std::int64_t targets = 0;  ///< tokens whose label is not ignored
  double limit = 0;          ///< of |sum computed with `sums` − sum|
};

/// logits: [tokens, vocabulary]; labels: [tokens], a negative one (−100) is ignored. `sums`: unit
/// roundoff of the type in which it was computed; the limit is that of a sum of independent
/// roundings (see row_limits.cpp). Throws inputError when a label is outside the vocabulary or the
/// sizes do not fit.
LossSum crossEntropySum(std::span<const double> logits, std::span<const double> labels,
                        std::int64_t vocabulary, double sums);

/// The loss of the tokens of one rank, a rank of each tp group.
struct RankLoss {
  WorldRank rank;
  LossSum own;
};
/// Of all ranks that have tokens of their own, ascending; `missing` says why they are not known.
struct RankLosses {
  std::vector<RankLoss> ranks;
  std::string missing;
};
/// As each rank recorded its own (other_tensors.h), or else from its logits and labels. Throws
/// inputError when values are damaged.
RankLosses rankLosses(const Trace& trace, std::int32_t train_step);
/// Each rank's own from its recorded logits and labels alone, in fp64. Throws as rankLosses() does.
RankLosses recomputedLosses(const Trace& trace, std::int32_t train_step);

/// What a run has as its loss: the sum over all targets by their number, NaN where there is none.
/// The limit includes the reduction over ranks and the division, which may be in fp32.
Rounded meanOverTargets(const std::vector<RankLoss>& ranks);

/// The logged loss of a training step against the mean over the targets of all ranks, as the intent
/// declares it, from the recorded logits and labels. Throws inputError when values are damaged.
ScalarCheck checkLoss(const Trace& trace, std::int32_t train_step);

}  // namespace ringscope::traces
