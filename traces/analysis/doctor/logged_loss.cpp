// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/logged_loss.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/analysis/verify/step_hypotheses/losses.h"
#include "traces/format/core/prose.h"
#include "traces/format/schema/other_tensors.h"
#include "traces/format/trace/framework.h"

namespace ringscope::traces {
namespace {

/// Closer than that, rounding could be it.
constexpr double kSure = 4;
/// A job may log three digits for people to read.
constexpr double kLogRounding = 0.01;

LoggedLoss unknown(std::string missing) {
  LoggedLoss loss;
  loss.missing = std::move(missing);
  return loss;
}

bool isMeantAsMean(const Trace& trace, const LoggedLoss& loss) {
  for (const RankLoss& rank : loss.ranks) {
    const IntentRecord* meant = trace.intent(loss.train_step, rank.rank);
    if (!meant || meant->loss != LossReduction::kMeanOverTargets) return false;
  }
  return true;
}

/// Returns the relation of a loss that is not the mean over all targets.
void nameWrongOne(LoggedLoss& loss, Rounded right, double cp) {
  const auto fits = [&](Rounded wrong) { return wrong.ratioFor(loss.logged) <= 1; };
  if (fits(meanOfMeans(loss.ranks, true)) || fits(meanOfMeans(loss.ranks, false))) {
    loss.is = LossIs::kMeanOfMeans;
    return;
  }
  for (const double scale : {cp, 1 / cp})
    if (fits(right.times(scale))) {
      loss.is = LossIs::kScaledByCp;
      loss.scale = scale;
      return;
    }
  for (const RankLoss& rank : loss.ranks)
    if (rank.own.targets > 0 && fits(meanOfRank(rank))) {
      loss.is = LossIs::kOfOneRank;
      loss.rank = rank.rank;
      return;
    }
  loss.wrong = std::abs(loss.logged - loss.right) > kLogRounding * std::abs(loss.right);
  loss.missing = "needs a logged loss that follows from those of the ranks; that of step " +
                 std::to_string(loss.train_step) + " follows from none of the usual sums";
}

/// Whether these ranks have as many targets each, so that the mean of their means is the right one.
bool haveEqualTargets(const std::vector<RankLoss>& ranks, bool counted) {
  std::set<std::int64_t> targets;
  for (const RankLoss& rank : ranks)
    if (counted || rank.own.targets > 0) targets.insert(rank.own.targets);
  return targets.size() < 2;
}

/// LoggedLoss::also_fits of one step.
std::map<LossIs, bool> alsoFitting(const LoggedLoss& loss, std::int64_t targets) {
  std::map<LossIs, bool> fitting;
  const auto add = [&](LossIs way, Rounded other) {
    fitting[way] = fitting[way] || other.ratioFor(loss.logged) <= kSure;
  };
  for (const bool counted : {true, false})
    if (!haveEqualTargets(loss.ranks, counted))
      add(LossIs::kMeanOfMeans, meanOfMeans(loss.ranks, counted));
  for (const RankLoss& rank : loss.ranks) {
    if (rank.own.targets > 0 && rank.own.targets < targets)
      add(LossIs::kOfOneRank, meanOfRank(rank));
    // It alone has targets: its own mean is the right loss, also where that of all was lost.
    if (rank.own.targets == targets && loss.ranks.size() > 1)
      fitting[LossIs::kOfOneRank] = fitting[LossIs::kLost] = true;
    else if (rank.own.targets == 0)
      fitting.try_emplace(LossIs::kLost, false);
  }
  return fitting;
}

LoggedLoss readStep(const Trace& trace, std::int32_t train_step) {
  LoggedLoss loss;
  loss.train_step = train_step;
  const auto logged = loggedNumber(trace, train_step, "loss");
  if (!logged)
    return unknown(isForeign(trace) ? "needs the loss that the job logs: ringscope.log(loss=…)"
                                    : "needs the loss that the run logged");
  RankLosses losses = rankLosses(trace, train_step);
  if (!losses.missing.empty())
    return unknown("needs the sum and the number of targets of each rank's loss");
  loss.ranks = std::move(losses.ranks);
  if (!isMeantAsMean(trace, loss))
    return unknown("needs a declaration of how the losses of several ranks were meant to be one");
  loss.recorded = true;
  loss.logged = *logged;
  std::int64_t targets = 0;
  for (const RankLoss& rank : loss.ranks) {
    if (!std::isfinite(rank.own.sum)) {
      loss.missing = "needs losses of all ranks that are finite";
      return loss;
    }
    targets += rank.own.targets;
    if (rank.own.targets == 0 && loss.rank.isNone()) loss.rank = rank.rank;
  }
  const Rounded right = targets > 0 ? meanOverTargets(loss.ranks) : Rounded();
  loss.right = right.value;
  if (!std::isfinite(loss.logged)) {
    if (loss.rank.exists()) loss.is = LossIs::kLost;
    loss.missing = "needs a logged loss that is finite";
  } else if (right.ratioFor(loss.logged) <= kSure) {
    loss.is = LossIs::kRight;
    loss.also_fits = alsoFitting(loss, targets);
  } else if (targets == 0) {
    loss.missing = "needs a token that has a target";
  } else {
    nameWrongOne(loss, right, trace.run()->cp);
    // Another job may log more than its targets' loss, such as an auxiliary loss.
    loss.wrong = loss.wrong && !isForeign(trace);
  }
  return loss;
}

/// Every training step of which a rank recorded its loss or its labels.
std::set<std::int32_t> stepsOf(const Trace& trace) {
  std::set<std::int32_t> steps;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor == TensorName{TensorKind::kOther, kOwnLossSum} ||
        tensor.tensor == TensorName{TensorKind::kBuffer, "labels"})
      steps.insert(tensor.place.train_step);
  return steps;
}

}  // namespace

LoggedLoss readLoggedLoss(const Trace& trace) {
  LoggedLoss last = unknown("needs the loss of each rank, and the one that the run logged");
  bool any_right = false;
  for (const std::int32_t train_step : stepsOf(trace)) {
    LoggedLoss loss = readStep(trace, train_step);
    if (loss.is != LossIs::kRight && loss.is != LossIs::kUnknown) return loss;
    // A step that is right stands for one within which the run ended, and excuses none that is
    // wrong.
    const bool cannot_be_told = loss.is == LossIs::kUnknown && !loss.wrong;
    if (last.wrong || (any_right && cannot_be_told)) continue;
    for (const auto& [way, fits] : last.also_fits) {
      const auto [now, added] = loss.also_fits.try_emplace(way, fits);
      now->second = now->second && fits;
    }
    any_right = any_right || loss.is == LossIs::kRight;
    last = std::move(loss);
  }
  return last;
}

namespace {

NamedValues valuesOf(const LoggedLoss& loss) {
  const auto [fewest, most] =
      std::ranges::minmax(loss.ranks, {}, [](const RankLoss& rank) { return rank.own.targets; });
  return {{"loss", describe(loss)},
          {"rank", toString(loss.rank)},
          {"ranks", std::to_string(loss.ranks.size())},
          {"scale", describeSignificant(loss.scale, 3)},
          {"divisor", describeSignificant(1 / loss.scale, 3)},
          {"fewest", std::to_string(fewest.own.targets)},
          {"fewest on", toString(fewest.rank)},
          {"most", std::to_string(most.own.targets)},
          {"most on", toString(most.rank)}};
}

}  // namespace

RuleResult answerFrom(const LoggedLoss& loss, LossIs wrong, const FindingWords& words) {
  if (loss.is == LossIs::kUnknown)
    return loss.recorded ? undecided(loss.missing) : notObservable(loss.missing);
  const auto also = loss.also_fits.find(wrong);
  if (loss.is == LossIs::kRight && also != loss.also_fits.end() && also->second)
    return undecided(
        "needs a training step in which the ranks' losses differ; in those recorded they make the "
        "logged loss in the right way and in this one");
  if (loss.is == LossIs::kRight) return clear();
  if (loss.is != wrong)
    return undecided("needs a logged loss that is not wrong in another way already");
  return found({.title = words.title,
                .place = {loss.train_step},
                .rank = loss.rank,
                .buffer = "loss",
                .evidence = fillIn(words.evidence, valuesOf(loss)),
                .remedy = words.remedy});
}

std::string describe(const LoggedLoss& loss) {
  return describeSignificant(loss.logged, 7) +
         " was logged, where the sum over all targets gives " + describeSignificant(loss.right, 7);
}

}  // namespace ringscope::traces
