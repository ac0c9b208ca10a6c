// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include "viz/window/run_config.h"

namespace ringscope::viz {

/// Names a run by its settings: "ring cp4 head_tail causal". Mistakes are left out, because a file
/// name must not give away what somebody is asked to find.
QString runName(const RunConfig& config);

}  // namespace ringscope::viz
