// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// Returns the name of a run's strategy: "ring", "ring, allgather", "hybrid 2 × 4".
std::string strategyTitle(const RunSpec& run);

/// Returns the run with each strategy in the order of their names, and those with ring hops with
/// allgather rotation too. One rank has the first strategy alone. refusal() says which runs are
/// possible. The split of hybrid depends on run.model.heads.
std::vector<RunSpec> strategyChoices(const RunSpec& run);

/// Returns the run as a ring whose KV blocks hop from rank to rank.
RunSpec asPlainRing(RunSpec run);
bool isPlainRing(const RunSpec& run);

}  // namespace ringscope::traces
