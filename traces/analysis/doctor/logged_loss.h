// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "traces/analysis/doctor/finding_words.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/verify/recompute/loss.h"

namespace ringscope::traces {

/// How the losses of all ranks became the one that was logged, as the numbers say.
enum class LossIs {
  kRight,
  kMeanOfMeans,  ///< the mean of what each rank has as the mean over its own targets
  kScaledByCp,   ///< times cp, or divided by it
  kOfOneRank,    ///< the mean over one rank's own targets
  kLost,         ///< not finite, though the sum of every rank is, and one of them has no target
  kUnknown       ///< none of these, or it cannot be told
};

/// The first training step whose logged loss is not right; the last where all are.
struct LoggedLoss {
  LossIs is = LossIs::kUnknown;
  std::string missing;    ///< kUnknown: what would settle it
  bool recorded = false;  ///< the losses are known, so no other capture would settle it
  bool wrong = false;     ///< kUnknown: it is not right, and none of these either
  std::int32_t train_step = 0;
  WorldRank rank;  ///< kOfOneRank: whose it is; kLost: who has no target
  double logged = 0, right = 0;
  double scale = 1;  ///< kScaledByCp: cp or 1 / cp
  std::vector<RankLoss> ranks;
  /// For kRight: whether another way of weighing targets also gives every logged number, up to
  /// rounding. Contains only ways that weigh targets otherwise in a recorded step, and those that a
  /// step cannot tell apart because one rank has all targets.
  std::map<LossIs, bool> also_fits;
};

LoggedLoss readLoggedLoss(const Trace& trace);

/// Returns a rule's answer: a finding with these words when the loss is `wrong`. The evidence can
/// name {loss}, {ranks}, {rank}, {scale}, {divisor}, {fewest}, {fewest on}, {most} and {most on}.
RuleResult answerFrom(const LoggedLoss& loss, LossIs wrong, const FindingWords& words);
/// "logged 5.25, where all targets give 4.5"
std::string describe(const LoggedLoss& loss);

}  // namespace ringscope::traces
