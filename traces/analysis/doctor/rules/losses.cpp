// SPDX-License-Identifier: Apache-2.0
// The logged loss, and values that are not finite.
#include <tuple>

#include "traces/analysis/doctor/logged_loss.h"
#include "traces/analysis/doctor/merge_reading.h"
#include "traces/analysis/doctor/own_averages.h"
#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/analysis/doctor/target_scale.h"
#include "traces/analysis/doctor/target_weights.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

// {loss} names the logged loss and the right one.

constexpr FindingWords kMeanOfMeans = {
    "The loss is a mean of the ranks' own means",
    "{loss}: it is the mean of {ranks} means, over {fewest} targets on rank {fewest on} and {most} "
    "on rank {most on}.",
    "Sum the losses of all ranks and the numbers of their targets over dp×cp, and divide one by "
    "the other: loss_sum / targets, not loss.mean() on each rank."};

constexpr const char* kScaleRemedy =
    "Divide the summed loss by the number of all targets and by nothing else; drop the factor of "
    "cp, or the mean over cp ranks that it was made for.";
constexpr FindingWords kTimesCp = {
    "The loss is taken times cp",
    "{loss}, {scale}× less: all of it was summed over the cp ranks already.", kScaleRemedy};
constexpr FindingWords kDividedByCp = {
    "The loss is divided by cp once more",
    "{loss}, {divisor}× more: the ranks' parts are no copies to be averaged.", kScaleRemedy};

constexpr FindingWords kOfOneRank = {
    "The logged loss is that of one rank",
    "{loss}: it is the mean over the targets of rank {rank} alone.",
    "Log the loss after it was summed over dp×cp and divided by the number of all targets; what "
    "each rank has before that is of its own tokens."};

constexpr FindingWords kLost = {
    "A rank without a target makes the loss NaN",
    "Rank {rank} has no label that is not ignored; the sums of all {ranks} ranks are finite, and "
    "the logged loss is not: a mean over no target is 0 divided by 0.",
    "Divide once, after the sums and the numbers of targets were added over dp×cp; a rank without "
    "a target then adds 0 to both."};

}  // namespace

// Neither the logged loss nor the weight of the targets is that of a mean of each rank's own mean.
// No rank divides or normalises what becomes the loss by its own tokens alone.
RuleResult checkMeanOfLocalMeans(const Readings& readings) {
  RuleResult answer =
      answerFrom(readings.targetWeights(),
                 answerFrom(readings.loggedLoss(), LossIs::kMeanOfMeans, kMeanOfMeans));
  if (answer.verdict != Verdict::kFound)
    if (auto finding = averageOfOwnTokens(readings.trace())) return found(std::move(*finding));
  return answer;
}

// A target weighs as much in every microbatch of a step.
RuleResult checkAccumulationMeanOfMeans(const Readings& readings) {
  return answerAboutMicrobatches(readings.targetWeights());
}

// The logged loss is neither cp times the mean over all targets, nor that divided by cp.
RuleResult checkLossScaledByCp(const Readings& readings) {
  const LoggedLoss& loss = readings.loggedLoss();
  return answerFrom(
      readings.targetScale(), TargetsScaled::kByLoss,
      answerFrom(loss, LossIs::kScaledByCp, loss.scale > 1 ? kTimesCp : kDividedByCp));
}

// Losses of gathered outputs are not summed over the ranks that gathered them.
RuleResult checkGatheredBackwardCountedTwice(const Readings& readings) {
  return answerAboutGathered(readings.targetScale());
}

// The logged loss is not that of one rank's tokens alone.
RuleResult checkMetricNotReduced(const Readings& readings) {
  return answerFrom(readings.loggedLoss(), LossIs::kOfOneRank, kOfOneRank);
}

// The loss is finite when the sum of every rank is, also where a rank has no target.
RuleResult checkRankWithoutTargets(const Readings& readings) {
  return answerFrom(readings.loggedLoss(), LossIs::kLost, kLost);
}

// nan_from_one_rank: the first recorded tensor that holds a NaN, or an infinity where none belongs.
namespace {

/// Reports whether the place comes after a loss that is not finite although its parts are.
bool comesOfTheLoss(const Readings& readings, const Place& place) {
  const LoggedLoss& loss = readings.loggedLoss();
  if (loss.is != LossIs::kLost) return false;
  return place.train_step > loss.train_step ||
         (place.train_step == loss.train_step && place.direction == Direction::kBackward);
}

/// Reports whether the place comes after a merge that is not finite although its blocks are.
bool comesOfAMerge(const Readings& readings, const Place& place) {
  const MergeReading& merges = readings.merges();
  if (!merges.isWrong()) return false;
  const Place& merge = merges.made->place;
  const bool same_pass = place.train_step == merge.train_step &&
                         place.direction == Direction::kForward && place.layer.exists();
  return same_pass ? place.layer.value() >= merge.layer.value()
                   : place.train_step >= merge.train_step;
}

/// Orders the tensors of a layer: the inputs of blocks, the blocks, results, and comparisons.
int partOfLayer(const TensorRecord& tensor) {
  if (tensor.place.stage.exists()) return 1;
  switch (tensor.tensor.kind) {
    case TensorKind::kOut:
    case TensorKind::kLse:
    case TensorKind::kDq:
    case TensorKind::kDk:
    case TensorKind::kDv:
      return 2;
    case TensorKind::kOther:
      return 3;
    default:
      return 0;
  }
}

/// Orders the tensors of a pass: before the layers, in layers, and after them.
int partOfPass(const TensorRecord& tensor) {
  if (tensor.place.layer.exists()) return 1;
  switch (tensor.tensor.kind) {
    case TensorKind::kPositionIds:
    case TensorKind::kCos:
    case TensorKind::kSin:
    case TensorKind::kBuffer:
      return 0;
    default:
      return tensor.tensor.name == kWholeBatch ? 0 : 2;
  }
}

/// Returns the position of a tensor on the data's way through a training step.
auto wayTo(const TensorRecord& tensor) {
  const Place& place = tensor.place;
  const bool backward = place.direction == Direction::kBackward;
  return std::tuple(place.train_step, backward, partOfPass(tensor),
                    backward ? -place.layer.value() : place.layer.value(), partOfLayer(tensor),
                    place.stage.value(), tensor.tensor.kind == TensorKind::kRunningLse);
}

}  // namespace

RuleResult checkNanFromOneRank(const Readings& readings) {
  const Trace& trace = readings.trace();
  if (trace.tensors().empty()) return notObservable("needs statistics of tensors");
  const TensorRecord* first = nullptr;
  for (const TensorRecord& tensor : trace.tensors()) {
    const bool bad =
        tensor.stats.nan > 0 || (tensor.stats.inf > 0 && !mayBeInfinite(tensor.tensor.kind));
    if (bad && (!first || wayTo(tensor) < wayTo(*first))) first = &tensor;
  }
  if (!first) return clear();
  if (comesOfTheLoss(readings, first->place))
    return undecided("needs a loss that is finite; what comes after it is NaN because of that");
  if (comesOfAMerge(readings, first->place))
    return undecided("needs merges that are finite; what comes after one is NaN because of that");
  return found({.title = "Values that are not finite",
                .place = first->place,
                .rank = first->rank,
                .buffer = first->tensor.text(),
                .evidence = "The first of them: " + std::to_string(first->stats.nan) + " NaN and " +
                            std::to_string(first->stats.inf) + " infinite values in " +
                            first->tensor.text() + ".",
                .remedy = "Look at what rank " + toString(first->rank) +
                          " computed just before; what it sends on takes it to the ranks that "
                          "share its sequence."});
}

}  // namespace ringscope::traces
