// SPDX-License-Identifier: Apache-2.0
// Finds the first recorded tensor that holds a NaN, or an infinity where none belongs.
#include <tuple>

#include "traces/analysis/doctor/logged_loss.h"
#include "traces/analysis/doctor/merge_reading.h"
#include "traces/analysis/doctor/rule.h"
#include "traces/format/schema/other_tensors.h"

namespace ringscope::traces {
namespace {

/// A loss that is not finite though all that went into it is makes everything after it NaN.
bool comesOfTheLoss(const Trace& trace, const Place& place) {
  const LoggedLoss loss = readLoggedLoss(trace);
  if (loss.is != LossIs::kLost) return false;
  return place.train_step > loss.train_step ||
         (place.train_step == loss.train_step && place.direction == Direction::kBackward);
}

/// A merge that makes an infinity of finite blocks makes everything after it NaN.
bool comesOfAMerge(const Trace& trace, const Place& place) {
  const MergeReading merges = readMerges(trace);
  if (!merges.isWrong()) return false;
  const Place& merge = merges.made->place;
  const bool same_pass = place.train_step == merge.train_step &&
                         place.direction == Direction::kForward && place.layer.exists();
  return same_pass ? place.layer.value() >= merge.layer.value()
                   : place.train_step >= merge.train_step;
}

/// What a layer makes its blocks from, the blocks, what comes of them, and what was compared.
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

/// What comes before the layers, the layers as they are visited, and what comes after them.
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

/// Where a tensor is on the data's way through a training step.
auto wayTo(const TensorRecord& tensor) {
  const Place& place = tensor.place;
  const bool backward = place.direction == Direction::kBackward;
  return std::tuple(place.train_step, backward, partOfPass(tensor),
                    backward ? -place.layer.value() : place.layer.value(), partOfLayer(tensor),
                    place.stage.value(), tensor.tensor.kind == TensorKind::kRunningLse);
}

}  // namespace

RuleResult checkNanFromOneRank(const Trace& trace) {
  if (trace.tensors().empty()) return notObservable("needs statistics of tensors");
  const TensorRecord* first = nullptr;
  for (const TensorRecord& tensor : trace.tensors()) {
    const bool bad =
        tensor.stats.nan > 0 || (tensor.stats.inf > 0 && !mayBeInfinite(tensor.tensor.kind));
    if (bad && (!first || wayTo(tensor) < wayTo(*first))) first = &tensor;
  }
  if (!first) return clear();
  if (comesOfTheLoss(trace, first->place))
    return undecided("needs a loss that is finite; what comes after it is NaN because of that");
  if (comesOfAMerge(trace, first->place))
    return undecided("needs merges that are finite; what comes after one is NaN because of that");
  Finding f;
  f.rule = "nan_from_one_rank";
  f.severity = "error";
  f.confidence = "certain";
  f.title = "Values that are not finite";
  f.place = first->place;
  f.rank = first->rank;
  f.buffer = first->tensor.text();
  f.evidence = "The first of them: " + std::to_string(first->stats.nan) + " NaN and " +
               std::to_string(first->stats.inf) + " infinite values in " + first->tensor.text() +
               ".";
  f.remedy =
      "Look at what rank " + toString(first->rank) +
      " computed just before; what it sends on takes it to the ranks that share its sequence.";
  return found(std::move(f));
}

}  // namespace ringscope::traces
