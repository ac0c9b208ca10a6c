// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/mistakes/foresight.h"
#include "engine/mistakes/registry.h"
#include "engine/observe/live_capture.h"
#include "traces/format/core/mutex.h"

namespace ringscope::engine {

/// What can be changed of a run while it runs. Thread-safe.
class RunSwitches {
 public:
  /// `correct`: what mistakes are made in.
  explicit RunSwitches(Seams correct = {}) : correct_(std::move(correct)) {}

  /// What is known of the run before its data and model are read: what is asked for from here on
  /// and would change nothing by these settings is refused.
  void expect(const traces::RunSpec& settings);

  /// What the run begins with. The connection may have asked for changes before: they stay.
  void begin(const std::vector<std::string>& mistakes, const CapturePolicy& capture);

  /// The run that was found possible, before its first step: places that its mistakes leave open
  /// are drawn, and a mistake that cannot be made in it is refused from here on. Throws usageError
  /// where the data, if `planned` has it, tells that a mistake changes nothing. `first_step`: with
  /// which a run begins that goes on from a checkpoint.
  void goOnWith(const traces::RunSpec& run, const std::optional<PlannedRun>& planned = {},
                std::int32_t first_step = 0);

  /// Adds a mistake, or takes it away, from the first training step that no rank has begun: every
  /// rank changes over at the same place. Returns that step. Throws usageError when there is no
  /// such mistake, when it is (not) injected already, when it would change nothing of this run,
  /// and when it can only be made before the first step.
  std::int32_t inject(const std::string& mistake);
  std::int32_t lift(const std::string& mistake);
  /// What a rank works with in a step; called when it begins it.
  Seams seamsOf(std::int32_t train_step);
  /// Whether ranks change over when they begin this step; then what they made by seams is stale.
  bool changesAt(std::int32_t train_step) const;
  /// The mistakes of the run so far whose effect is not known beforehand, and whether this process
  /// has seen it.
  std::vector<std::pair<std::string, bool>> watchedMistakes() const;
  /// What the run begins with, for what is done before any rank begins a step.
  Seams seamsOfBeginning() const;

  LiveCapture& capture() { return capture_; }

 private:
  struct Change {
    std::int32_t from_step;
    Seams seams;
  };
  struct Mistake {
    std::string asked;  ///< by which it is lifted again
    std::string made;   ///< with the places that were drawn for it, once the run is known
  };
  bool isInjected(const std::string& mistake) const RINGSCOPE_REQUIRES(mutex_);
  std::int32_t change() RINGSCOPE_REQUIRES(mutex_);
  Seams withMistakes() const RINGSCOPE_REQUIRES(mutex_);
  /// All but the mistake of this number.
  Seams withoutMistake(std::size_t number) const RINGSCOPE_REQUIRES(mutex_);
  void checkCanBegin(const std::string& mistake) const RINGSCOPE_REQUIRES(mutex_);
  void checkStepsLeft(const std::string& mistake) const RINGSCOPE_REQUIRES(mutex_);

  const Seams correct_;
  mutable traces::Mutex mutex_;
  std::vector<Mistake> mistakes_ RINGSCOPE_GUARDED_BY(mutex_);
  std::vector<Change> changes_ RINGSCOPE_GUARDED_BY(mutex_);
  std::optional<traces::RunSpec> expected_ RINGSCOPE_GUARDED_BY(mutex_);
  std::optional<traces::RunSpec> run_ RINGSCOPE_GUARDED_BY(mutex_);
  std::optional<PlannedRun> planned_ RINGSCOPE_GUARDED_BY(mutex_);
  /// The last step that any rank has begun.
  std::int32_t begun_ RINGSCOPE_GUARDED_BY(mutex_) = -1;
  LiveCapture capture_;
};

}  // namespace ringscope::engine
