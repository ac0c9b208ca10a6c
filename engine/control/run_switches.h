// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/mistakes/seams.h"
#include "engine/observe/capture_policy.h"

namespace ringscope::engine {

/// What can be changed of a run while it runs. Thread-safe.
class RunSwitches {
 public:
  /// What the run begins with. The connection may have asked for changes before: they stay.
  void begin(const std::vector<std::string>& mistakes, const CapturePolicy& capture);

  /// Adds a mistake, or takes it away, from the first training step that no rank has begun: every
  /// rank changes over at the same place. Returns that step. Throws usageError when there is no
  /// such mistake, or when it is (not) injected already.
  std::int32_t inject(const std::string& mistake);
  std::int32_t lift(const std::string& mistake);
  /// What a rank works with in a step; called when it begins it.
  Seams seamsOf(std::int32_t train_step);

  /// From the next tensor on.
  void setCapture(const CapturePolicy& policy);
  CapturePolicy capture() const;

  /// Called for a recorded tensor that holds a NaN, or an infinity where none belongs, while
  /// breakOnNonFinite is set.
  void setNonFiniteSink(std::function<void()> sink);
  void breakOnNonFinite(bool on) { break_on_non_finite_ = on; }
  void nonFinite() const;

 private:
  struct Change {
    std::int32_t from_step;
    Seams seams;
  };
  std::int32_t change();

  mutable std::mutex mutex_;
  std::vector<std::string> mistakes_;
  std::vector<Change> changes_;
  std::int32_t begun_ = -1;  // the last step that any rank has begun
  CapturePolicy capture_ = CapturePolicy::none();
  bool capture_was_set_ = false;
  std::function<void()> non_finite_;
  std::atomic<bool> break_on_non_finite_{false};
};

}  // namespace ringscope::engine
