// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "traces/compare/parts.h"
#include "traces/compare/row_tally.h"

namespace ringscope::traces {
namespace {

constexpr const char* kStepNote = "step.";
constexpr const char* kNumbers[] = {"targets", "loss", "grad_norm"};

/// JSON has no NaN; null stands for it.
double numberOf(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void compareNumbers(const Trace& run, const Trace& other, RunComparison& comparison) {
  for (const Note& note : run.notes()) {
    if (!note.key.starts_with(kStepNote)) continue;
    const nlohmann::json &ours = run.note(note.key), &theirs = other.note(note.key);
    if (!ours.is_object() || !theirs.is_object()) continue;
    const std::string step = note.key.substr(std::string_view(kStepNote).size());
    if (step.empty() || step.find_first_not_of("0123456789") != std::string::npos ||
        step.size() > 9)
      continue;
    for (const char* name : kNumbers) {
      if (!ours.contains(name) || !theirs.contains(name)) continue;
      const Place place{std::stoi(step)};
      if (isCompared(comparison, place, name)) continue;
      const double a = numberOf(ours.at(name)), b = numberOf(theirs.at(name));
      RowTally tally;
      tally.add({&a, 1}, {&b, 1}, {}, WorldRank::none(), WorldRank::none());
      TensorDifference difference = tally.difference();
      difference.place = place;
      difference.tensor = name;
      comparison.all.push_back(std::move(difference));
    }
  }
}

}  // namespace ringscope::traces
