// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/strategy_choices.h"

#include "traces/plan/run_rules.h"

namespace ringscope::traces {

std::string strategyTitle(const RunSpec& run) {
  std::string title = name(run.strategy);
  if (run.strategy == Strategy::kHybrid) {
    const std::int32_t ulysses = ulyssesSize(run);
    title += " " + std::to_string(ulysses) + " × " + std::to_string(run.cp / ulysses);
  }
  if (hasRingHops(run) && run.rotate != Rotate::kP2p) title += std::string(", ") + name(run.rotate);
  return title;
}

std::vector<RunSpec> strategyChoices(const RunSpec& run) {
  std::vector<RunSpec> choices;
  for (std::size_t s = 0; s < (run.cp == 1 ? 1 : kValueCount<Strategy>); ++s)
    for (const Rotate rotate : {Rotate::kP2p, Rotate::kAllGather}) {
      RunSpec choice = run;
      choice.strategy = static_cast<Strategy>(s);
      choice.rotate = rotate;
      const bool hybrid = choice.strategy == Strategy::kHybrid;
      if (!hybrid) choice.ulysses = 0;
      const std::int32_t ulysses = ulyssesSize(choice);
      if (hybrid && (ulysses == 1 || ulysses == run.cp)) continue;  // another strategy's split
      if (rotate != Rotate::kP2p && (run.cp == 1 || !hasRingHops(choice))) continue;
      choices.push_back(choice);
    }
  return choices;
}

RunSpec asPlainRing(RunSpec run) {
  run.strategy = Strategy::kRing;
  run.rotate = Rotate::kP2p;
  run.ulysses = 0;
  return run;
}

bool isPlainRing(const RunSpec& run) {
  return run.strategy == Strategy::kRing && run.rotate == Rotate::kP2p;
}

}  // namespace ringscope::traces
