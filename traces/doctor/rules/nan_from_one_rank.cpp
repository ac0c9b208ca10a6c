// SPDX-License-Identifier: Apache-2.0
// Finds the first recorded tensor that holds a NaN, or an infinity where none belongs.
#include "traces/doctor/logged_loss.h"
#include "traces/doctor/rule.h"

namespace ringscope::traces {
namespace {

/// A loss that is not finite though all that went into it is makes everything after it NaN.
bool comesOfTheLoss(const Trace& trace, const Place& place) {
  const LoggedLoss loss = readLoggedLoss(trace);
  if (loss.is != LossIs::kLost) return false;
  return place.train_step > loss.train_step ||
         (place.train_step == loss.train_step && place.direction == Direction::kBackward);
}

}  // namespace

RuleResult checkNanFromOneRank(const Trace& trace) {
  if (trace.tensors().empty()) return notObservable("needs statistics of tensors");
  const TensorRecord* first = nullptr;
  for (const TensorRecord& tensor : trace.tensors()) {
    const bool bad =
        tensor.stats.nan > 0 || (tensor.stats.inf > 0 && !mayBeInfinite(tensor.tensor.kind));
    if (bad && (!first || before(tensor.place, first->place))) first = &tensor;
  }
  if (!first) return clear();
  if (comesOfTheLoss(trace, first->place))
    return undecided("needs a loss that is finite; what comes after it is NaN because of that");
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
  f.remedy = "Look at what rank " + toString(first->rank) +
             " computed just before; every other rank has it world_size − 1 hops later.";
  return found(std::move(f));
}

}  // namespace ringscope::traces
