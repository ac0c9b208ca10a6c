// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "engine/observe/memory_tracker.h"
#include "engine/train/rank_trainer.h"
#include "engine/train/training_run.h"
#include "engine/verify/verification_queue.h"

namespace ringscope::engine {

/// The step-by-step results that the ranks of a run put together: logs, results, checkpoints and
/// the verifier's inputs. The first rank of the mesh writes the outcome.
class SharedProgress {
 public:
  /// Makes the object. `recorder` may be null. All references must outlive it.
  SharedProgress(const TrainSetup& setup, traces::Recorder* recorder, const TrainHooks& hooks,
                 std::shared_ptr<MemoryTracker> memory, Gate& gate);

  /// Runs all training steps of one rank; called by every rank's thread.
  void runRank(RankContext& context, const LlamaWeights& initial,
               const std::optional<Checkpoint>& resumed);
  /// Waits for the last comparison; called after all ranks are done.
  void finish() { outcome.diffs = verification_.finish(); }

  TrainOutcome outcome;

 private:
  void runStep(RankContext& context, RankTrainer& trainer, std::int32_t step);
  void reportUnseenMistakes(RankContext& context);
  /// Peak bytes by rank of the mesh; see StepLog.
  struct Peaks {
    std::vector<std::int64_t> of_step, with_verification;
  };
  /// Returns the peaks of all ranks, on every rank.
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
  VerificationQueue::Step collected_;  ///< the first rank's step, until its update is known too
  CheckpointStore store_;
};

}  // namespace ringscope::engine
