// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "engine/observe/capture_policy.h"
#include "traces/format/core/mutex.h"

namespace ringscope::engine {

/// The capture policy of a run, which can change while the run goes on. Thread-safe.
class LiveCapture {
 public:
  /// Sets the policy at the start of the run, unless set() was called before.
  void begin(const CapturePolicy& policy);
  /// Sets the policy from the next tensor on.
  void set(const CapturePolicy& policy);
  CapturePolicy policy() const;

  /// Sets a function that is called, while breakOnNonFinite is set, for a recorded tensor with a
  /// NaN or an unexpected infinity.
  void setNonFiniteSink(std::function<void()> sink);
  void breakOnNonFinite(bool on) { break_on_non_finite_ = on; }
  void nonFinite() const;

 private:
  mutable traces::Mutex mutex_;
  CapturePolicy policy_ RINGSCOPE_GUARDED_BY(mutex_) = CapturePolicy::none();
  bool was_set_ RINGSCOPE_GUARDED_BY(mutex_) = false;
  std::function<void()> non_finite_ RINGSCOPE_GUARDED_BY(mutex_);
  std::atomic<bool> break_on_non_finite_{false};
};

}  // namespace ringscope::engine
