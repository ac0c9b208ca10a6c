// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "traces/analysis/compare/parts.h"
#include "traces/analysis/compare/row_tally.h"
#include "traces/format/trace/step_log.h"

namespace ringscope::traces {
namespace {

constexpr std::pair<const char*, std::optional<double> LoggedStep::*> kNumbers[] = {
    {"targets", &LoggedStep::targets},
    {"loss", &LoggedStep::loss},
    {"grad_norm", &LoggedStep::grad_norm}};

}  // namespace

void compareNumbers(const Trace& run, const Trace& other, RunComparison& comparison) {
  const auto theirs = loggedSteps(other);
  for (const auto& [step, logged] : loggedSteps(run)) {
    const auto found = theirs.find(step);
    if (found == theirs.end()) continue;
    for (const auto& [name, number] : kNumbers) {
      const auto a = logged.*number, b = found->second.*number;
      if (!a || !b) continue;
      RowTally tally;
      tally.add({&*a, 1}, {&*b, 1}, {}, WorldRank::none(), WorldRank::none());
      TensorDifference difference = tally.difference();
      difference.place = {step};
      difference.tensor = name;
      comparison.all.push_back(std::move(difference));
    }
  }
}

}  // namespace ringscope::traces
