// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/plan/run_rules.h"

// The questions about a run that needs.cpp and needs_of_data.cpp share.
namespace ringscope::traces::needs {

using Asked = const AskedMistake&;
using Run = const RunSpec&;

/// Reports whether the folder of a model, which gives its window and sinks, or the input of an
/// attention, which gives its mask, heads and sinks, was not read yet.
inline bool modelIsUnknown(Run run) {
  return !run.model_dir.empty() || (run.command == Command::kAttend && run.model.heads == 0);
}

/// Reports whether the number of ranks that share heads depends on the number of heads, which is
/// not known yet.
inline bool ulyssesIsUnknown(Run run) {
  return choosesUlyssesSize(run.strategy) && run.ulysses == 0 && run.model.heads == 0;
}

/// Reports whether KV goes round at least so many ranks.
inline bool ringsOver(Run run, std::int32_t least) {
  return run.cp >= least &&
         (ulyssesIsUnknown(run) || run.cp / std::max(1, ulyssesSize(run)) >= least);
}

inline void takeRing(RunSpec& run) {
  run = withDefaultStrategy(run);
  run.cp = std::max(run.cp, 2);
}

}  // namespace ringscope::traces::needs
