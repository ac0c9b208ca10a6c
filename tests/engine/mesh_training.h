// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/train/training_run.h"
#include "tests/support/files.h"

namespace ringscope::test {

inline engine::TrainOutcome trained(const engine::TrainConfig& config) {
  engine::Gate gate(config.mesh().worldSize());
  return engine::runTraining(config, gate, nullptr);
}

/// Returns a training on batches of 4 short sequences of the sample text.
inline engine::TrainConfig textConfig(engine::Mesh mesh, int steps) {
  engine::TrainConfig config;
  config.text = {sampleText()};
  config.dp = mesh.dp;
  config.tp = mesh.tp;
  config.cp = mesh.cp;
  config.steps = steps;
  config.seq_len = 64;
  config.batch = 4;
  config.capture = "none";
  return config;
}

}  // namespace ringscope::test
