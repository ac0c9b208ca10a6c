// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/mistakes/catalogue/mistake.h"

namespace ringscope::traces {

/// All of them, those of a subject next to each other.
const std::vector<Mistake>& mistakeCatalogue();
/// Null when there is no mistake of this id.
const Mistake* findMistake(const std::string& id);
/// The id of the mistake that names a hypothesis as its own; throws where none does.
std::string mistakeOfHypothesis(const std::string& hypothesis);

}  // namespace ringscope::traces
