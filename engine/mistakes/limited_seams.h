// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/mistakes/seams.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"

namespace ringscope::engine {

/// Seams that are `wrong` where the asked mistake is to be made and `before` everywhere else. Those
/// that are reached outside of any rank (layout, padding, joined) and the checks are `wrong`.
Seams limitedTo(const traces::AskedMistake& asked, const Seams& before, const Seams& wrong);

}  // namespace ringscope::engine
