// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/rank/run_switches.h"
#include "engine/train/training_run.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::engine::test {

/// Returns the recording of a training run through these seams, which nothing else refers to.
inline std::shared_ptr<traces::Trace> recordedWith(const TrainConfig& config, const Seams& seams) {
  ringscope::test::TempDir dir;
  const std::string path = dir.file("a.rscope");
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(path));
    traces::Recorder recorder(config.worldSize(), std::move(sinks));
    Gate gate(config.worldSize());
    RunSwitches switches(seams);
    TrainHooks hooks;
    hooks.switches = &switches;
    runTraining(config, gate, &recorder, hooks);
  }
  auto trace = traces::openTrace(path);
  trace->readEvents();
  return trace;
}

}  // namespace ringscope::engine::test
