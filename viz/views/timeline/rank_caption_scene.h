// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/views/timeline/account_scene.h"

namespace ringscope::viz {

/// The line under a rank's lanes: "stands still for 4.1 ms · 19 ms of 23 ms in flight hidden · CPU
/// 88 % of its work's wall time"; by a model "model: stands still for 4.1 ms, 1.0 ms of that for
/// late peers · 19 ms of 22 ms in flight hidden".
std::string rankCaption(const RankAccount& rank, bool model);

}  // namespace ringscope::viz
