// SPDX-License-Identifier: Apache-2.0
// Losses beside the cross entropy of a training step: auxiliary losses, and evaluations.
#include "traces/format/trace/other_losses.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/target_scale.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/sequence_groups.h"
#include "traces/format/trace/step_log.h"
#include "traces/format/trace/steps.h"

namespace ringscope::traces {
namespace {

std::set<std::int32_t> stepsOf(const Trace& trace) {
  std::set<std::int32_t> steps = stepsWithTensors(trace);
  for (const auto& [step, logged] : loggedSteps(trace)) steps.insert(step);
  return steps;
}

bool isNear(double a, double b, double share) {
  return std::abs(a - b) <= share * std::abs(b);
}

// aux_loss_scaled_by_ranks: what all ranks' auxiliary losses count in the optimizer's gradient is
// cp times what they are meant to count.

/// The sum over ranks and microbatches of what one auxiliary loss counts in a training step.
struct AuxiliaryWeight {
  double meant = 0, counted = 0;
  std::int64_t losses = 0;
  std::int32_t microbatches = 1;
  bool alike = true;  ///< all losses have the same meant weight and the same gradient
  AuxiliaryLoss first;

  void add(const AuxiliaryLoss& loss) {
    if (losses == 0) first = loss;
    alike = alike && loss.weight == first.weight && loss.part == first.part &&
            isNear(loss.gradient, first.gradient, 1e-4);
    counted += loss.gradient;
    microbatches = std::max(microbatches, loss.microbatch + 1);
    ++losses;
  }
};

/// Returns the sums of a step by the order of calls within a microbatch; empty when some rank or
/// microbatch has more losses than another.
std::vector<AuxiliaryWeight> auxiliaryWeights(const Trace& trace, std::int32_t train_step) {
  std::map<std::size_t, AuxiliaryWeight> by_order;
  for (int rank = 0; rank < trace.worldSize(); ++rank) {
    std::map<std::int32_t, std::size_t> next;
    for (const AuxiliaryLoss& loss : auxiliaryLosses(trace, train_step, WorldRank::of(rank)))
      by_order[next[loss.microbatch]++].add(loss);
  }
  std::vector<AuxiliaryWeight> all;
  for (auto& [order, weight] : by_order) {
    const std::int64_t due = std::int64_t{trace.worldSize()} * weight.microbatches;
    if (weight.losses != due || weight.first.weight == 0 || !trace.run()) return {};
    weight.meant = weight.first.weight * (weight.first.part ? trace.run()->cp : 1);
    all.push_back(weight);
  }
  return all;
}

Finding auxiliaryFinding(const AuxiliaryWeight& all, double sync, double cp,
                         std::int32_t train_step) {
  return {.confidence = Confidence::kLikely,
          .title = "An auxiliary loss counts once per rank",
          .place = {train_step, Layer::none(), Direction::kBackward, {}},
          .buffer = "auxiliary_loss",
          .evidence = "Backward brings " +
                      describeSignificant(all.counted / static_cast<double>(all.losses), 4) +
                      " to each of " + describeCount(all.losses) +
                      " auxiliary losses of the ranks, and the optimizer is given " +
                      describeSignificant(sync, 4) +
                      " times the sum of the ranks' gradients. Together these losses count " +
                      describeSignificant(all.counted * sync, 4) + ", which is " +
                      describeSignificant(cp, 3) + " times the " +
                      describeSignificant(all.meant, 4) + " that the model is configured with.",
          .remedy =
              "Give the auxiliary loss the scale of the cross entropy beside it: divide a mean "
              "over each rank's tokens by the number of ranks whose gradients are summed, or "
              "sum over tokens and divide by the tokens of all ranks."};
}

/// Judges one training step.
RuleResult judgeAuxiliary(const Trace& trace, std::int32_t train_step, const AuxiliaryWeight& all,
                          double sync) {
  constexpr double kRounding = 1e-2;
  const double cp = trace.run()->cp, dp = trace.run()->dp, microbatches = all.microbatches;
  const double ratio = all.counted * sync / all.meant;
  // A sum of replicas' or of microbatches' losses is a choice.
  const std::set<double> meant = {1, dp, microbatches, dp * microbatches};
  for (const double factor : meant)
    if (isNear(ratio, factor, kRounding)) {
      const bool clearly = factor == 1 || !meant.contains(factor / cp);
      return clearly ? clear()
                     : undecided(
                           "needs as many microbatches or replicas as are not the number of "
                           "cp ranks");
    }
  for (const double factor : meant)
    if (isNear(ratio, factor * cp, kRounding))
      return found(auxiliaryFinding(all, sync, cp * factor, train_step));
  return undecided("needs auxiliary losses that count what they are meant to, or cp times as much");
}

}  // namespace

RuleResult checkAuxLossScaledByRanks(const Readings& readings) {
  const Trace& trace = readings.trace();
  if (const auto answer = answerWithoutJob(trace)) return *answer;
  bool named = false;
  std::optional<RuleResult> answer;
  for (const std::int32_t train_step : stepsOf(trace))
    for (const AuxiliaryWeight& weight : auxiliaryWeights(trace, train_step)) {
      named = true;
      const TargetScale& targets = readings.targetScale();
      if (targets.are == TargetsScaled::kUnknown) continue;
      if (targets.are != TargetsScaled::kRight || !weight.alike)
        return undecided(
            "needs a cross entropy that counts once, and auxiliary losses that count alike on all "
            "ranks");
      RuleResult judged = judgeAuxiliary(trace, train_step, weight, targets.sync);
      if (judged.verdict == Verdict::kFound) return judged;
      if (!answer || answer->verdict == Verdict::kClear) answer = std::move(judged);
    }
  if (answer) return *answer;
  return notObservable(named ? "needs the gradients of the logits and of the output projection"
                             : "needs an auxiliary loss, its gradient and what it is meant to "
                               "count");
}

// validation_counts_before_cut: the logged validation loss is the summed loss divided by targets
// that were counted otherwise than the losses were summed.
namespace {

/// The evaluations between two training steps, over all ranks.
struct Evaluation {
  double sum = 0, targets = 0;
  std::vector<EvaluatedLoss> ranks;  ///< each rank's sums
  std::vector<double> right;         ///< the means that a job can mean

  void add(const Trace& trace, std::int32_t train_step);
};

/// Returns what the evaluations of a group of ranks sum up to.
EvaluatedLoss sumOver(const std::vector<EvaluatedLoss>& losses) {
  EvaluatedLoss all;
  for (const EvaluatedLoss& loss : losses) {
    all.sum += loss.sum;
    all.targets += loss.targets;
  }
  return all;
}

double meanOf(const EvaluatedLoss& loss) {
  return loss.sum / static_cast<double>(loss.targets);
}

void Evaluation::add(const Trace& trace, std::int32_t train_step) {
  std::vector<EvaluatedLoss> groups;
  std::vector<double> means;  // of a group's batches
  for (const auto& members : sequenceGroups(trace)) {
    std::vector<std::vector<EvaluatedLoss>> of_ranks;
    for (const WorldRank rank : members) {
      of_ranks.push_back(evaluatedLosses(trace, train_step, rank));
      ranks.push_back(sumOver(of_ranks.back()));
    }
    for (std::size_t batch = 0; batch < of_ranks.front().size(); ++batch) {
      EvaluatedLoss whole;
      for (const auto& losses : of_ranks)
        if (losses.size() == of_ranks.front().size()) whole = sumOver({whole, losses[batch]});
      means.push_back(meanOf(whole));
      groups.push_back(whole);
    }
  }
  const EvaluatedLoss all = sumOver(groups);
  sum = all.sum;
  targets = static_cast<double>(all.targets);
  double total = 0;
  for (const double mean : means) total += mean;
  right = {sum / targets, total / static_cast<double>(means.size())};
}

Finding validationFinding(const Evaluation& evaluated, double logged, std::int32_t train_step,
                          const std::string& how) {
  return {.confidence = Confidence::kLikely,
          .title = "The validation loss is divided by targets that were counted otherwise",
          .place = {train_step},
          .buffer = "validation_loss",
          .evidence = "Logged " + describeSignificant(logged, 6) + " before training step " +
                      std::to_string(train_step) +
                      ", where the evaluated losses of all ranks are " +
                      describeSignificant(evaluated.sum, 6) + " of " +
                      describeCount(static_cast<std::int64_t>(evaluated.targets), "target") +
                      ", which is " + describeSignificant(evaluated.sum / evaluated.targets, 6) +
                      ". The logged number is " + how + ".",
          .remedy =
              "Sum losses and targets of what each rank evaluates over the ranks of dp×cp, "
              "and divide one sum by the other. A count that was taken before the cut is the "
              "same on all cp ranks, and must not be summed over them."};
}

/// Returns how a wrong number came about; empty when no way gives it.
std::string howCounted(const Evaluation& evaluated, double logged, double cp) {
  constexpr double kRounding = 1e-5;
  const auto is = [&](double number) { return isNear(logged, number, kRounding); };
  for (const double right : evaluated.right) {
    if (is(right / cp))
      return "1 / " + describeSignificant(cp, 3) +
             " of it, as if every target "
             "counted once per cp rank";
    if (is(right * cp))
      return describeSignificant(cp, 3) +
             " times that, as if one of the cp "
             "ranks' targets counted alone";
  }
  for (const EvaluatedLoss& rank : evaluated.ranks) {
    if (rank.targets > 0 && is(evaluated.sum / static_cast<double>(rank.targets)))
      return "the sum of all ranks over the " + describeCount(rank.targets, "target") +
             " of one rank";
    if (rank.sum > 0 && is(rank.sum / evaluated.targets))
      return "the sum of one rank over the targets of all";
  }
  return "";
}

}  // namespace

RuleResult checkValidationCountsBeforeCut(const Trace& trace) {
  constexpr double kRounding = 1e-4;
  if (const auto answer = answerWithoutJob(trace)) return *answer;
  bool right = false, other = false;
  for (const auto& [step, logged] : loggedSteps(trace)) {
    Evaluation evaluated;
    evaluated.add(trace, step);
    if (!logged.validation_loss || !(evaluated.targets > 0) || !trace.run()) continue;
    const double loss = *logged.validation_loss;
    if (std::ranges::any_of(evaluated.right,
                            [&](double mean) { return isNear(loss, mean, kRounding); })) {
      right = true;
      continue;
    }
    const std::string how = howCounted(evaluated, loss, trace.run()->cp);
    if (!how.empty()) return found(validationFinding(evaluated, loss, step, how));
    other = true;
  }
  if (other) return undecided("needs a validation loss that some way of counting gives");
  return right ? clear()
               : notObservable(
                     "needs an evaluation of a recorded training step, and its logged "
                     "validation loss");
}

}  // namespace ringscope::traces
