// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Reports whether the error of a row exceeds its limit or is NaN.
bool diverges(const DiffRecord& diff);
/// Reports whether the first diff has the larger ratio. NaN is larger than every number.
bool isWorse(const DiffRecord& diff, const DiffRecord& than);
/// Replaces `worst` by `candidate` if the candidate is worse or `worst` is null.
void keepWorse(const DiffRecord*& worst, const DiffRecord& candidate);

/// A summary of all diffs of a run. Pointers are into the trace.
struct DiffSummary {
  const DiffRecord* worst_isolated = nullptr;
  const DiffRecord* worst_end_to_end = nullptr;
  /// The earliest isolated divergence in the order of dependence, which is where an error arises.
  /// If all attention is right, the earliest end-to-end divergence.
  const DiffRecord* first_divergence = nullptr;
  int compared = 0;
  int diverging = 0;
};

DiffSummary summarize(const Trace& trace);

/// The worst diffs of a growing trace. update() looks only at new diffs.
class WorstDiffs {
 public:
  void update(const Trace& trace);
  /// Return the worst diff of a kind; null when none has been compared. Valid until the trace
  /// grows.
  const DiffRecord* isolated(const Trace& trace) const { return at(trace, of_run_.isolated); }
  const DiffRecord* endToEnd(const Trace& trace) const { return at(trace, of_run_.end_to_end); }
  /// Returns the worse of the two.
  const DiffRecord* overall(const Trace& trace) const;
  /// Return the worst diff of one training step.
  const DiffRecord* isolated(const Trace& trace, std::int32_t train_step) const {
    return at(trace, ofStep(train_step).isolated);
  }
  const DiffRecord* endToEnd(const Trace& trace, std::int32_t train_step) const {
    return at(trace, ofStep(train_step).end_to_end);
  }

 private:
  static const DiffRecord* at(const Trace& trace, std::optional<std::size_t> index) {
    return index ? &trace.diffs()[*index] : nullptr;
  }
  struct Worst {
    std::optional<std::size_t> isolated, end_to_end;
  };
  Worst ofStep(std::int32_t train_step) const {
    const auto found = of_steps_.find(train_step);
    return found == of_steps_.end() ? Worst() : found->second;
  }
  std::size_t seen_ = 0;
  Worst of_run_;
  std::unordered_map<std::int32_t, Worst> of_steps_;
};

/// Returns diverging diffs in the order of dependence: forward layers up, loss, backward layers
/// down.
std::vector<const DiffRecord*> divergences(const Trace& trace);

/// Returns the place of a diff for one line of text: "layer 2, dk" or "loss".
std::string describe(const DiffRecord& diff);
/// Reports whether a comes before b in the data flow of a training step: forward from the first
/// layer to the logits and the loss, backward to the gradients. Isolated diffs come before
/// end-to-end ones.
bool comesBefore(const DiffRecord& a, const DiffRecord& b);
/// Describes DiffRecord::quantisation: "Rounding to FP8 alone moves it by 2.7 % of its size".
std::string describeQuantisation(double share);

}  // namespace ringscope::traces
