// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/mistakes/catalogue/mistake.h"

namespace ringscope::traces {

/// Returns all mistakes, grouped by subject.
const std::vector<Mistake>& mistakeCatalogue();
/// Returns null when there is no mistake of this id.
const Mistake* findMistake(const std::string& id);

}  // namespace ringscope::traces
