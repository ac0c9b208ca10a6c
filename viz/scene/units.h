// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "traces/format/core/prose.h"

namespace ringscope::viz {

// Units are said as the command line says them.
using traces::describeBytes;
using traces::describeDecimals;
using traces::describeDuration;

}  // namespace ringscope::viz
