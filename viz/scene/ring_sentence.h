// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

/// What a rank does in its ring step, with real numbers: which queries it attends to which keys,
/// or why to none, by the recorded schedule.
std::string ringSentence(const traces::Trace& trace, const GroupPass& pass, const RankScene& rank);

}  // namespace ringscope::viz
