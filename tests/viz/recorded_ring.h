// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>

#include "tests/viz/ring_plan.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// Returns the recording of a run whose attention is computed here in fp64, block by block: events,
/// schedules, intent, groups, shards, buffers, tensors, memory and comparisons. A run of the engine
/// with --verify and --capture values leaves the same records.
std::shared_ptr<traces::Trace> recordedTrace(const RingRun& run = {});

/// Writes the same recording to a file at `path`. `sealed` is the JSON document that names the
/// injected mistakes.
void recordFile(const RingRun& run, const std::string& path, const std::string& sealed = "");

}  // namespace ringscope::test
