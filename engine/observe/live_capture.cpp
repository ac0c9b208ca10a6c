// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/live_capture.h"

namespace ringscope::engine {

void LiveCapture::begin(const CapturePolicy& policy) {
  const traces::MutexLock lock(mutex_);
  if (!was_set_) policy_ = policy;
}

void LiveCapture::set(const CapturePolicy& policy) {
  const traces::MutexLock lock(mutex_);
  policy_ = policy;
  was_set_ = true;
}

CapturePolicy LiveCapture::policy() const {
  const traces::MutexLock lock(mutex_);
  return policy_;
}

void LiveCapture::setNonFiniteSink(std::function<void()> sink) {
  const traces::MutexLock lock(mutex_);
  non_finite_ = std::move(sink);
}

void LiveCapture::nonFinite() const {
  if (!break_on_non_finite_) return;
  const traces::MutexLock lock(mutex_);
  if (non_finite_) non_finite_();
}

}  // namespace ringscope::engine
