// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/scalar_check.h"

namespace ringscope::traces {

/// The cross entropy of one token whose label is not ignored.
struct TokenEntropy {
  double loss = 0;  ///< −log softmax(logits)[label], with label smoothing if there is any
  double log_probability = 0;  ///< log softmax(logits)[label]
  double lse = 0;              ///< log-sum-exp of the logits
  double largest = 0;          ///< largest magnitude of a logit
};
/// Returns the cross entropy of a token from its logits [vocabulary]. `label` is below the
/// vocabulary. With label `smoothing`, that share of the target is spread over the vocabulary.
TokenEntropy tokenEntropy(std::span<const double> logits, std::size_t label, double smoothing = 0);

/// The cross entropy of some tokens, and how far rounding may move a correct result from it.
struct LossSum {
  double sum = 0;            ///< sum of −log softmax(logits)[label] over the targets
  std::int64_t targets = 0;  ///< tokens whose label is not ignored
  double limit = 0;          ///< limit of |sum computed with `sums` − sum|
};

/// Returns the cross entropy of logits [tokens, vocabulary] and labels [tokens]; a negative label
/// (−100) is ignored. `sums` is the unit roundoff of the type in which the run computed. The limit
/// is that of a sum of independent roundings (see row_limits.cpp). Throws inputError when a label
/// is outside the vocabulary or the sizes do not match.
/// With label `smoothing`, that share of each target is spread over the vocabulary.
LossSum crossEntropySum(std::span<const double> logits, std::span<const double> labels,
                        std::int64_t vocabulary, double sums, double smoothing = 0);

/// The recorded logits and labels of the tokens of one rank.
struct RankLogits {
  std::vector<double> logits;             ///< [tokens, vocabulary], joined over the rank's tp group
  std::vector<double> labels;             ///< [tokens]; a negative label is ignored
  std::vector<std::int64_t> label_shape;  ///< [B, tokens per sequence] or [tokens]
  std::int64_t vocabulary = 0;
  double sums = 0;       ///< unit roundoff of the type in which the run computed losses
  double smoothing = 0;  ///< label smoothing; 0 unless it is known
};
/// Returns the logits and labels of a rank. Throws MissingValue, and inputError when values are
/// damaged.
RankLogits rankLogits(const Trace& trace, std::int32_t train_step, WorldRank rank);

/// The loss of the tokens of one rank; one rank per tp group.
struct RankLoss {
  WorldRank rank;
  LossSum own;
};
/// The losses of all ranks that have tokens of their own, ascending. `missing` says why they are
/// unknown.
struct RankLosses {
  std::vector<RankLoss> ranks;
  std::string missing;
};
/// Returns the losses as each rank recorded its own (other_tensors.h), or else from its logits and
/// labels. Throws inputError when values are damaged.
RankLosses rankLosses(const Trace& trace, std::int32_t train_step);
/// Returns each rank's loss from its recorded logits and labels alone, in fp64. Throws as
/// rankLosses() does.
RankLosses recomputedLosses(const Trace& trace, std::int32_t train_step);

/// Returns the loss of a run: the sum over all targets divided by their number; NaN without
/// targets. The limit includes the reduction over ranks and the division, which may be in fp32.
Rounded meanOverTargets(const std::vector<RankLoss>& ranks);

/// Compares the logged loss of a training step with the mean over the targets of all ranks, from
/// the recorded logits and labels. The intent declares this reduction. Throws inputError when
/// values are damaged.
ScalarCheck checkLoss(const Trace& trace, std::int32_t train_step);

}  // namespace ringscope::traces
