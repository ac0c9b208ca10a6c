// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/plan/run_rules.h"

// What needs.cpp and needs_of_data.cpp ask of a run.
namespace ringscope::traces::needs {

using Asked = const AskedMistake&;
using Run = const RunSpec&;

/// A model's own window and sinks are known once its folder was read, and an attention's mask,
/// heads and sinks once its input was.
inline bool modelIsUnknown(Run run) {
  return !run.model_dir.empty() || (run.command == Command::kAttend && run.model.heads == 0);
}

/// The number of ranks that share heads follows from the number of heads where nobody asks for it.
inline bool ulyssesIsUnknown(Run run) {
  return run.strategy == Strategy::kHybrid && run.ulysses == 0 && run.model.heads == 0;
}

/// Whether KV goes round at least so many ranks.
inline bool ringsOver(Run run, std::int32_t least) {
  return run.cp >= least &&
         (ulyssesIsUnknown(run) || run.cp / std::max(1, ulyssesSize(run)) >= least);
}

inline bool sharesHeads(Run run) {
  return run.strategy == Strategy::kUlysses || run.strategy == Strategy::kHybrid;
}

inline void takeRing(RunSpec& run) {
  run.cp = std::max(run.cp, 2);
  run.strategy = RunSpec().strategy;
  run.ulysses = 0;
}

}  // namespace ringscope::traces::needs
