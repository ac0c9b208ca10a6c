// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/query/trace.h"

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
/// A number of a training step's log line (the note "step.N"); nothing where there is none. The log
/// is JSON, in which what is not finite is null: that is NaN here.
std::optional<double> loggedNumber(const Trace& trace, std::int32_t train_step, const char* field);

/// A number that a run logged against the one that follows from recorded tensors.
struct ScalarCheck {
  std::string what;  ///< "loss", "grad_norm"
  std::optional<double> logged, exact;
  double limit = 0;     ///< what rounding explains
  std::string skipped;  ///< why it was not computed or compared; empty otherwise
  /// Above 1 it is wrong; nothing when it was not compared.
  std::optional<double> ratio() const;
};

/// The logged loss of a training step against the mean over the targets of all ranks, as the intent
/// declares it, from the recorded logits and labels. Throws inputError when values are damaged.
ScalarCheck checkLoss(const Trace& trace, std::int32_t train_step);

/// The logged gradient norm against that of the recorded gradients after their sync: of one rank of
/// each tp slice, what tp ranks hold alike counted once. Throws inputError when values are damaged.
ScalarCheck checkGradientNorm(const Trace& trace, std::int32_t train_step);

}  // namespace ringscope::traces
