// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "viz/scene/ring_scene.h"

namespace ringscope::viz {

/// Says with numbers what a rank does in its ring step: which queries attend to which keys, or why
/// none do, by the recorded schedule.
std::string ringSentence(const traces::Trace& trace, const GroupPass& pass, const RankScene& rank);

}  // namespace ringscope::viz
