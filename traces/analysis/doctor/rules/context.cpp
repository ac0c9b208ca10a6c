// SPDX-License-Identifier: Apache-2.0
// backward_outside_context: the job left PyTorch's context_parallel after a forward in it, and only
// then began the backward, which ran none of the forward's attention over the ranks.
#include "traces/analysis/doctor/rule.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/context_facts.h"
#include "traces/format/trace/recorder_request.h"
#include "traces/plan/balance.h"

namespace ringscope::traces {
namespace {

Finding backwardOutsideFinding(const OutsideBackward& backward) {
  return {
      .title = "Backward runs after context_parallel was left",
      .place = {backward.train_step, Layer::none(), Direction::kBackward, {}},
      .rank = backward.rank,
      .evidence = "Forward called attention over the ranks " +
                  describeCount(backward.attentions, "time") +
                  ". The job then left context_parallel, backward began, and no attention over the "
                  "ranks ran in it." +
                  (backward.error.empty() ? "" : " The job ended there: " + backward.error),
      .remedy =
          "Call loss.backward() within the context: inside of "
          "`with context_parallel(…):`, or of Accelerate's maybe_context_parallel()."};
}

/// Reports whether the job computed attention over ranks by itself, or none, so that it needed no
/// context.
bool needsNoContext(const Trace& trace) {
  const auto request = recorderRequest(trace);
  return request && request->annotated;
}

}  // namespace

RuleResult checkBackwardOutsideContext(const Trace& trace) {
  if (const auto answer = answerWithoutJob(trace)) return *answer;
  const auto outside = outsideBackwards(trace);
  if (!outside && needsNoContext(trace)) return clear();
  if (!outside) return notObservable("needs to know when PyTorch's context_parallel was active");
  if (outside->empty()) return clear();
  const OutsideBackward& first = outside->front();
  // A backward that gathers contiguous parts gives the same numbers.
  if (first.error.empty() && trace.run() &&
      dealsContiguousParts(trace.run()->balance.value_or(defaultCausalBalance())))
    return undecided(
        "needs tokens that a balance reorders: without one, a backward that gathers "
        "all tokens may be right");
  return found(backwardOutsideFinding(first));
}

}  // namespace ringscope::traces
