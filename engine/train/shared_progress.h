// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "engine/observe/memory_tracker.h"
#include "engine/train/rank_trainer.h"
#include "engine/train/training_run.h"
#include "engine/verify/verification_queue.h"

namespace ringscope::engine {

/// What the ranks of one run put together, step by step: logs, results, checkpoints and what the
/// verification compares. The first rank of the mesh writes the outcome.
class SharedProgress {
 public:
  /// `recorder` may be null. References outlive this.
  SharedProgress(const TrainSetup& setup, traces::Recorder* recorder, const TrainHooks& hooks,
                 std::shared_ptr<MemoryTracker> memory, Gate& gate);

  /// All training steps of one rank; every rank's thread calls it.
  void runRank(RankContext& context, const LlamaWeights& initial,
               const std::optional<Checkpoint>& resumed);
  /// Once all ranks are done: waits for the last comparison.
  void finish() { outcome.diffs = verification_.finish(); }

  TrainOutcome outcome;

 private:
  void runStep(RankContext& context, RankTrainer& trainer, std::int32_t step);
  void reportUnseenMistakes(RankContext& context);
  /// By rank of the mesh; see StepLog.
  struct Peaks {
    std::vector<std::int64_t> of_step, with_verification;
  };
  /// On every rank.
  Peaks peaksOfAll(RankContext& context);
  NamedTensors fullOnFirst(RankContext& context, const NamedTensors& slices);
  void keepFirstStep(RankContext& context, const RankTrainer& trainer,
                     const RankTrainer::Result& result);
  at::Tensor fullLogits(const Mesh& mesh, const std::vector<at::Tensor>& of_ranks) const;
  void save(RankContext& context, const RankTrainer& trainer, std::int64_t next_step);
  void collect(RankContext& context, RankTrainer& trainer, const RankTrainer::Result& result,
               std::int32_t step);
  void compare(RankContext& context, const RankTrainer& trainer, double norm);

  const TrainSetup& setup_;
  traces::Recorder* recorder_;
  const TrainHooks& hooks_;
  std::shared_ptr<MemoryTracker> memory_;
  VerificationQueue verification_;
  VerificationQueue::Step collected_;  ///< the first rank's, until its update is known too
  CheckpointStore store_;
};

}  // namespace ringscope::engine
