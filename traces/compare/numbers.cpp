// SPDX-License-Identifier: Apache-2.0
#include "traces/compare/parts.h"
#include "traces/compare/row_tally.h"
#include "traces/query/step_log.h"
#include "traces/verify/scalar_check.h"

namespace ringscope::traces {
namespace {

constexpr const char* kNumbers[] = {"targets", "loss", "grad_norm"};

}  // namespace

void compareNumbers(const Trace& run, const Trace& other, RunComparison& comparison) {
  for (const Note& note : run.notes()) {
    const auto step = loggedStepOf(note.key);
    if (!step) continue;
    for (const char* name : kNumbers) {
      const Place place{*step};
      const auto a = loggedNumber(run, place.train_step, name),
                 b = loggedNumber(other, place.train_step, name);
      if (!a || !b || isCompared(comparison, place, name)) continue;
      RowTally tally;
      tally.add({&*a, 1}, {&*b, 1}, {}, WorldRank::none(), WorldRank::none());
      TensorDifference difference = tally.difference();
      difference.place = place;
      difference.tensor = name;
      comparison.all.push_back(std::move(difference));
    }
  }
}

}  // namespace ringscope::traces
