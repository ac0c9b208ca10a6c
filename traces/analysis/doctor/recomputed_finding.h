// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/analysis/doctor/diagnosis.h"

namespace ringscope::traces {

struct LayerCheck;
class Readings;

/// Recomputes attention layers of a recording, as many as a bound of work allows.
std::vector<LayerCheck> recomputeLayers(const Trace& trace);

/// Finds the first layer of an imported recording whose recorded results are not attention as it
/// was meant (trace_check.h), and places it: step, layer, direction, rank, rows. The finding has
/// the rule of the mistake that reproduces the layer, or else kUnknownMistake.
std::optional<Finding> recomputedFinding(const Readings& readings);

/// Takes back findings about the attention of a layer of an imported recording that is right when
/// it is computed again, although the mistake would change it.
void takeBackWhatIsRight(const Readings& readings, std::vector<Diagnosis::Entry>& entries);

}  // namespace ringscope::traces
