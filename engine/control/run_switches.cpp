// SPDX-License-Identifier: Apache-2.0
#include "engine/control/run_switches.h"

#include <algorithm>

#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

Seams seamsWith(const std::vector<std::string>& mistakes) {
  Seams seams;
  for (const std::string& mistake : mistakes) inject(mistake, seams);
  return seams;
}

}  // namespace

void RunSwitches::begin(const std::vector<std::string>& mistakes, const CapturePolicy& capture) {
  const std::lock_guard lock(mutex_);
  for (const std::string& mistake : mistakes)
    if (std::find(mistakes_.begin(), mistakes_.end(), mistake) == mistakes_.end())
      mistakes_.push_back(mistake);
  changes_ = {{0, seamsWith(mistakes_)}};
  if (!capture_was_set_) capture_ = capture;
}

std::int32_t RunSwitches::change() {
  changes_.push_back({begun_ + 1, seamsWith(mistakes_)});
  return begun_ + 1;
}

std::int32_t RunSwitches::inject(const std::string& mistake) {
  const std::lock_guard lock(mutex_);
  if (std::find(mistakes_.begin(), mistakes_.end(), mistake) != mistakes_.end())
    throw usageError("the mistake '" + mistake + "' is injected already");
  Seams seams;
  engine::inject(mistake, seams);  // refuses what is not there
  mistakes_.push_back(mistake);
  return change();
}

std::int32_t RunSwitches::lift(const std::string& mistake) {
  const std::lock_guard lock(mutex_);
  if (std::erase(mistakes_, mistake) == 0)
    throw usageError("the mistake '" + mistake + "' is not injected");
  return change();
}

Seams RunSwitches::seamsOf(std::int32_t train_step) {
  const std::lock_guard lock(mutex_);
  begun_ = std::max(begun_, train_step);
  Seams seams;
  for (const Change& c : changes_)
    if (c.from_step <= train_step) seams = c.seams;
  return seams;
}

void RunSwitches::setCapture(const CapturePolicy& policy) {
  const std::lock_guard lock(mutex_);
  capture_ = policy;
  capture_was_set_ = true;
}

CapturePolicy RunSwitches::capture() const {
  const std::lock_guard lock(mutex_);
  return capture_;
}

void RunSwitches::setNonFiniteSink(std::function<void()> sink) {
  const std::lock_guard lock(mutex_);
  non_finite_ = std::move(sink);
}

void RunSwitches::nonFinite() const {
  if (!break_on_non_finite_) return;
  const std::lock_guard lock(mutex_);
  if (non_finite_) non_finite_();
}

}  // namespace ringscope::engine
