// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/gate/gate.h"
#include "engine/model/llama_config.h"
#include "engine/observe/live_tensors.h"
#include "engine/rank/run_switches.h"
#include "engine/train/train_config.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// Calls out of a run. on_step comes from rank 0's thread, at_gate from every rank's.
struct TrainHooks {
  std::function<void(const StepLog&)> on_step;
  std::function<void(WorldRank rank, const traces::Place&)> at_gate;
  /// With --verify: the diffs of one step, from another thread, when they have been computed.
  std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs;
  /// A rank thread is stuck and cannot be ended (RankThreadOptions::on_stuck).
  std::function<void(const std::string&)> on_stuck = {};
  LiveTensors* live = nullptr;      ///< filled for whoever reads a paused run
  RunSwitches* switches = nullptr;  ///< through which the run is changed; null: it is not
};

/// What a run leaves behind.
struct TrainOutcome {
  std::vector<StepLog> steps;
  LlamaConfig model;
  bool stopped = false;                         ///< ended early because it was asked to
  at::Tensor logits;                            ///< of step 0, global order [B, S, vocab]
  std::map<std::string, at::Tensor> gradients;  ///< of step 0, before clipping
  std::map<std::string, at::Tensor> weights;    ///< after the last step
  std::vector<traces::DiffRecord> diffs;        ///< with --verify, of all steps
  std::vector<std::string> unseen_mistakes;     ///< a sentence for each that changed nothing
};

/// Throws usageError where a configuration names nothing to train on, or two things.
void requireData(const TrainConfig& config);

/// Throws the usageError or inputError with which runTraining() would refuse this run for its
/// settings, its data or its mistakes. Reads the data and the model's shape, and starts nothing.
void checkTraining(const TrainConfig& config);

/// Trains with one thread a rank. Blocks until the run is over. `recorder` may be null.
/// Throws usageError or inputError before anything runs when the configuration cannot work, and
/// runFailed with rank, place and reason when a rank failed; the others are then ended too.
TrainOutcome runTraining(const TrainConfig& config, Gate& gate, traces::Recorder* recorder,
                         const TrainHooks& hooks = {});

}  // namespace ringscope::engine
