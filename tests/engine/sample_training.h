// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "engine/train/training_run.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/storage/sqlite_sink.h"
#include "traces/format/trace/trace.h"

namespace ringscope::engine {

/// Returns a short run on the sample text.
inline TrainConfig sampleConfig(int cp, int steps) {
  TrainConfig config;
  config.text = {test::sampleText()};
  config.cp = cp;
  config.steps = steps;
  config.seq_len = 128;
  return config;
}

inline TrainOutcome run(const TrainConfig& config, traces::Recorder* recorder = nullptr,
                        const TrainHooks& hooks = {}) {
  Gate gate(config.mesh().worldSize());
  return runTraining(config, gate, recorder, hooks);
}

/// Trains into a file and opens it.
inline std::shared_ptr<traces::Trace> recorded(const TrainConfig& config, const std::string& path) {
  {
    std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
    sinks.push_back(std::make_unique<traces::SqliteSink>(path));
    traces::Recorder recorder(config.mesh().worldSize(), std::move(sinks));
    run(config, &recorder);
  }
  return traces::openTrace(path);
}

}  // namespace ringscope::engine
