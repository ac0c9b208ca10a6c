// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <future>

#include "engine/observe/capture_policy.h"
#include "engine/verify/exact_update.h"
#include "engine/verify/step_verifier.h"
#include "traces/format/recording/recorder.h"

namespace ringscope::engine {

/// Compares training steps beside the run: a step is handed in and the run goes on, up to the end
/// of the next one. One step at a time. submit() and finish() belong to one thread.
class VerificationQueue {
 public:
  /// A step as the ranks had it; nothing in it is changed any more.
  struct Step {
    std::int32_t train_step = 0;
    std::vector<RankStep> ranks;
    double loss = 0;
    LlamaWeights weights;  ///< at the beginning of the step
    Batch batch;
    ParameterUpdate update;
  };

  /// `recorder` may be null. `on_done` is called from another thread after each step.
  VerificationQueue(StepVerifier verifier, traces::Recorder* recorder, CapturePolicy policy,
                    std::function<void(const std::vector<traces::DiffRecord>&)> on_done);
  ~VerificationQueue();

  /// True while a step before this one is being compared. Any thread may ask.
  bool busyBefore(std::int32_t train_step) const;
  /// Waits for the step before. Throws what its comparison threw.
  void submit(Step step);
  /// The diffs of all steps. Throws what a comparison threw.
  std::vector<traces::DiffRecord> finish();

 private:
  void compare(const Step& step);
  void await();

  StepVerifier verifier_;
  traces::Recorder* recorder_;
  CapturePolicy policy_;
  std::function<void(const std::vector<traces::DiffRecord>&)> on_done_;
  std::atomic<std::int32_t> comparing_{kNone};
  std::vector<traces::DiffRecord> diffs_;
  std::future<void> running_;

  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
};

}  // namespace ringscope::engine
