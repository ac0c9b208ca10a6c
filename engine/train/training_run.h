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

/// The callbacks of a run. Rank 0's thread calls on_step, and every rank's thread calls at_gate.
struct TrainHooks {
  std::function<void(const StepLog&)> on_step;
  std::function<void(WorldRank rank, const traces::Place&)> at_gate;
  /// With --verify: called from another thread with the diffs of a step when they are computed.
  std::function<void(const std::vector<traces::DiffRecord>&)> on_diffs;
  /// Called for a stuck rank thread that cannot be ended (RankThreadOptions::on_stuck).
  std::function<void(const std::string&)> on_stuck = {};
  LiveTensors* live = nullptr;      ///< filled for readers of a paused run
  RunSwitches* switches = nullptr;  ///< changes to the run; null: none
};

/// The results of a run.
struct TrainOutcome {
  std::vector<StepLog> steps;
  LlamaConfig model;
  bool stopped = false;                         ///< ended early on request
  at::Tensor logits;                            ///< of step 0, global order [B, S, vocab]
  std::map<std::string, at::Tensor> gradients;  ///< of step 0, before clipping
  std::map<std::string, at::Tensor> weights;    ///< after the last step
  std::vector<traces::DiffRecord> diffs;        ///< with --verify, of all steps
  std::vector<std::string> unseen_mistakes;     ///< one sentence per mistake that changed nothing
};

/// Throws usageError if a configuration names no data to train on, or more than one kind.
void requireData(const TrainConfig& config);

/// Throws the usageError or inputError with which runTraining() would reject this run because of
/// its settings, data or mistakes. Reads the data and the model's configuration, and starts
/// nothing.
void checkTraining(const TrainConfig& config);

/// Trains with one thread per rank. Blocks until the run is over. `recorder` may be null. Throws
/// usageError or inputError before anything runs if the configuration is impossible. If a rank
/// fails, ends the other ranks and throws runFailed with rank, place and reason.
TrainOutcome runTraining(const TrainConfig& config, Gate& gate, traces::Recorder* recorder,
                         const TrainHooks& hooks = {});

}  // namespace ringscope::engine
