// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>

#include "tests/viz/ring_plan.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// The recording of a run whose attention is computed here in fp64, block by block: events,
/// schedules, intent, groups, shards, buffers, tensors, memory and comparisons, as a run of the
/// engine with --verify and --capture values would leave them.
std::shared_ptr<traces::Trace> recordedTrace(const RingRun& run);

/// The same as a file at `path`; `sealed`: the JSON document that says what was injected.
void recordFile(const RingRun& run, const std::string& path, const std::string& sealed = "");

}  // namespace ringscope::test
