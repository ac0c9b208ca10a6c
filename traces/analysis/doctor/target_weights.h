// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The weight of one target on the ranks of a cp group, from the gradients that backward brought to
/// the logits of a job's cross entropy.
enum class TargetsWeigh {
  kUnknown,
  kAlike,
  kByRankCount,        ///< as in a mean of the ranks' own means
  kByMicrobatchCount,  ///< as in a mean of the means of microbatches
  kByChunkCount,       ///< as in a mean of the means of chunks of one sequence
  kByRank              ///< as kByRankCount, but not by a count: preferences of each rank's part
};
struct TargetWeights {
  TargetsWeigh are = TargetsWeigh::kUnknown;
  std::int32_t train_step = 0;
  WorldRank rank;        ///< the rank whose targets weigh most
  std::string evidence;  ///< in numbers
};

TargetWeights readTargetWeights(const Trace& trace);

/// Returns the answer about means of means when no logged loss tells it: `otherwise` unless the
/// weights of targets do.
RuleResult answerFrom(const TargetWeights& weights, RuleResult otherwise);
/// Returns the answer about a mean of the means of microbatches or of chunks.
RuleResult answerAboutMicrobatches(const TargetWeights& weights);

}  // namespace ringscope::traces
