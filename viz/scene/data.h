// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "traces/format/schema/event.h"
#include "traces/format/schema/records.h"

// The sources of scenes, declared only: a painter that includes the header of a scene cannot read a
// trace.
namespace ringscope::traces {
class Trace;
class WorstDiffs;
struct Diagnosis;
}  // namespace ringscope::traces

namespace ringscope::viz {
using traces::GroupRank;
using traces::Layer;
using traces::Place;
using traces::RingStep;
using traces::TokenIndex;
using traces::WorldRank;
}  // namespace ringscope::viz
