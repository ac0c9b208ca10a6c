// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/causes.h"

#include <algorithm>
#include <map>

#include "traces/analysis/diff/summary.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::traces {
namespace {

/// Returns the part of a training step to which the earliest wrong comparison belongs. Gradients
/// within layers come after the loss.
FirstChanged firstChanged(const DiffRecord& wrong) {
  const bool in_layer = wrong.place.layer.exists(),
             backward = wrong.place.direction == Direction::kBackward;
  if ((in_layer && backward && !wrong.isolated) || wrong.tensor == "loss")
    return FirstChanged::kLoss;
  if (in_layer || !backward) return FirstChanged::kAnything;
  return FirstChanged::kGradients;
}

bool isError(const Diagnosis::Entry& entry) {
  return std::ranges::any_of(entry.result.findings, [](const Finding& finding) {
    return finding.severity == Severity::kError;
  });
}

}  // namespace

void keepCauses(std::vector<Diagnosis::Entry>& entries) {
  std::map<std::string, std::string> cause_of;
  for (const Diagnosis::Entry& entry : entries)
    if (const Mistake* mistake = findMistake(entry.rule);
        mistake && entry.result.verdict == Verdict::kFound)
      for (const std::string& effect : mistake->also_trips) cause_of.emplace(effect, entry.rule);
  for (Diagnosis::Entry& entry : entries)
    if (const auto cause = cause_of.find(entry.rule);
        cause != cause_of.end() && entry.result.verdict == Verdict::kFound)
      entry.result =
          undecided("needs a run without " + cause->second + ", which explains what it would find");
}

void takeBackWhatIsTooLate(const Trace& trace, std::vector<Diagnosis::Entry>& entries) {
  const DiffRecord* wrong = firstDivergence(trace);
  if (!wrong) return;
  const FirstChanged first = firstChanged(*wrong);
  const auto explains = [&](const Diagnosis::Entry& entry) {
    const Mistake* mistake = findMistake(entry.rule);
    return isError(entry) && (!mistake || mistake->first_changed <= first);
  };
  if (std::ranges::any_of(entries, explains)) return;
  for (Diagnosis::Entry& entry : entries)
    if (isError(entry))
      entry.result = undecided("needs a run that is right before; in training step " +
                               std::to_string(wrong->place.train_step) + " " + describe(*wrong) +
                               " is wrong already, which this would not change");
}

}  // namespace ringscope::traces
