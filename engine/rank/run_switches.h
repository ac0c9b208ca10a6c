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

/// The settings of a run that can change while it runs. Thread-safe.
class RunSwitches {
 public:
  /// Makes the switches. `correct` are the seams of a run without mistakes.
  explicit RunSwitches(Seams correct = {}) : correct_(std::move(correct)) {}

  /// Sets the settings that are known before data and model are read. Later requests that would
  /// change nothing with these settings are rejected.
  void expect(const traces::RunSpec& settings);

  /// Sets the mistakes and the capture policy at the start of the run. Changes that the connection
  /// has requested before stay.
  void begin(const std::vector<std::string>& mistakes, const CapturePolicy& capture);

  /// Sets the run that will be carried out, before its first step. Draws the places that its
  /// mistakes leave open. Later, mistakes that are impossible in this run are rejected. Throws
  /// usageError if `planned` shows that a mistake changes nothing in the data. `first_step` is the
  /// first step of a run that resumes from a checkpoint.
  void goOnWith(const traces::RunSpec& run, const std::optional<PlannedRun>& planned = {},
                std::int32_t first_step = 0);

  /// Adds (inject) or removes (lift) a mistake, from the first training step that no rank has
  /// begun, so that every rank changes at the same place. Returns that step. Throws usageError for
  /// an unknown mistake, and for one that is (not) injected already. It also throws for a mistake
  /// that has no effect in this run or is only possible before the first step.
  std::int32_t inject(const std::string& mistake);
  std::int32_t lift(const std::string& mistake);
  /// Returns the seams of a training step. Each rank calls this when it begins the step.
  Seams seamsFor(std::int32_t train_step);
  /// Reports whether the seams change in this step. A rank must then rebuild what it made by seams.
  bool changesAt(std::int32_t train_step) const;
  /// Returns the mistakes whose effect is not known beforehand. The bool says whether this process
  /// has seen the effect.
  std::vector<std::pair<std::string, bool>> watchedMistakes() const;
  /// Returns the seams at the start of the run, for work that is done before any step.
  Seams seamsOfBeginning() const;

  LiveCapture& capture() { return capture_; }

 private:
  struct Change {
    std::int32_t from_step;
    Seams seams;
  };
  struct Mistake {
    std::string asked;  ///< as requested; lifting uses the same text
    std::string made;   ///< with the places drawn for it, once the run is known
  };
  bool isInjected(const std::string& mistake) const RINGSCOPE_REQUIRES(mutex_);
  std::int32_t change() RINGSCOPE_REQUIRES(mutex_);
  Seams withMistakes() const RINGSCOPE_REQUIRES(mutex_);
  /// Returns the seams with all mistakes except the one with this index.
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
