// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/views/timeline/account_scene.h"

namespace ringscope::viz {

/// Returns the line under a rank's lanes, such as "stands still for 4.1 ms · 19 ms of 23 ms in
/// flight hidden · CPU 88 % of its work's wall time". The line of a model begins with "model:".
std::string rankCaption(const RankAccount& rank, bool model);

}  // namespace ringscope::viz
