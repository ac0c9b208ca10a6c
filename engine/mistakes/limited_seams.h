// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/mistakes/seams.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"

namespace ringscope::engine {

/// Returns seams that are `wrong` where the requested mistake is made and `before` everywhere else.
/// Seams that no rank reaches (layout, padding, joined) and the checks are `wrong`.
Seams limitedTo(const traces::AskedMistake& asked, const Seams& before, const Seams& wrong);

}  // namespace ringscope::engine
