// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The error of a row is beyond its limit, or is no number.
bool diverges(const DiffRecord& diff);
/// The first has the larger ratio; what is no number is larger than all numbers.
bool isWorse(const DiffRecord& diff, const DiffRecord& than);
/// Leaves the worse of the two in `worst`; null: there is none yet.
void keepWorse(const DiffRecord*& worst, const DiffRecord& candidate);

/// What the diffs of a run say together. Pointers are into the trace.
struct DiffSummary {
  const DiffRecord* worst_isolated = nullptr;
  const DiffRecord* worst_end_to_end = nullptr;
  /// The earliest isolated divergence in the order of dependence: where an error is born; when all
  /// attention is right, the earliest end-to-end one.
  const DiffRecord* first_divergence = nullptr;
  int compared = 0;
  int diverging = 0;
};

DiffSummary summarize(const Trace& trace);

/// The worst diffs of a growing trace; update() looks only at what is new.
class WorstDiffs {
 public:
  void update(const Trace& trace);
  /// Null when nothing of this kind has been compared. Valid until the trace grows.
  const DiffRecord* isolated(const Trace& trace) const { return at(trace, of_run_.isolated); }
  const DiffRecord* endToEnd(const Trace& trace) const { return at(trace, of_run_.end_to_end); }
  /// The worse of the two.
  const DiffRecord* overall(const Trace& trace) const;
  /// Of one training step.
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

/// Diverging diffs in the order of dependence: forward layers up, loss, backward layers down.
std::vector<const DiffRecord*> divergences(const Trace& trace);

/// "layer 2, dk" or "loss": where a diff stands, for one line of text.
std::string describe(const DiffRecord& diff);
/// Along the data's way through a training step: forward from the first layer to the logits and the
/// loss, backward to the gradients; what is isolated comes before what is end to end.
bool comesBefore(const DiffRecord& a, const DiffRecord& b);
/// "Rounding to FP8 alone moves it by 2.7 % of its size", of DiffRecord::quantisation.
std::string describeQuantisation(double share);

}  // namespace ringscope::traces
