// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "engine/observe/capture_policy.h"
#include "traces/format/core/mutex.h"

namespace ringscope::engine {

/// What a run keeps of tensors, where that can be changed while it runs. Thread-safe.
class LiveCapture {
 public:
  /// What the run begins with; a policy that was set before stays.
  void begin(const CapturePolicy& policy);
  /// From the next tensor on.
  void set(const CapturePolicy& policy);
  CapturePolicy policy() const;

  /// Called for a recorded tensor that holds a NaN, or an infinity where none belongs, while
  /// breakOnNonFinite is set.
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
