// SPDX-License-Identifier: Apache-2.0
#include "engine/control/gate.h"

#include <algorithm>

namespace ringscope::engine {

Gate::Gate(int ranks)
    : passed_(static_cast<std::size_t>(ranks), 0),
      waiting_(static_cast<std::size_t>(ranks), false),
      left_(static_cast<std::size_t>(ranks), false) {}

std::int64_t Gate::firstCommonGate() const {
  return *std::max_element(passed_.begin(), passed_.end()) + 1;
}

/// True when `place` is where the step that is under way should end.
bool Gate::reached(std::int64_t number, const traces::Place& place) const {
  if (halt_) return number >= *halt_;
  if (!stepping_) return false;
  switch (*stepping_) {
    case StepUnit::kStage:
      return true;
    case StepUnit::kLayer:
      return place.layer != place_.layer || place.direction != place_.direction;
    case StepUnit::kTrainStep:
      return place.train_step != place_.train_step;
  }
  return true;
}

bool Gate::arrive(int rank, const traces::Place& place) {
  const auto r = static_cast<std::size_t>(rank);
  std::unique_lock lock(mutex_);
  const std::int64_t number = ++passed_[r];
  if (!reached(number, place)) return false;
  if (!halt_) halt_ = number;
  stepping_.reset();
  if (stopping_) throw StopRequested();
  place_ = place;
  waiting_[r] = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return stopping_ || !halt_ || number < *halt_; });
  waiting_[r] = false;
  if (stopping_ && (!halt_ || number >= *halt_)) throw StopRequested();
  return true;
}

void Gate::leave(int rank) {
  const std::lock_guard lock(mutex_);
  left_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

void Gate::pause() {
  const std::lock_guard lock(mutex_);
  if (!halt_ && !stepping_) halt_ = firstCommonGate();
}

void Gate::resume() {
  const std::lock_guard lock(mutex_);
  halt_.reset();
  stepping_.reset();
  std::fill(waiting_.begin(), waiting_.end(), false);
  changed_.notify_all();
}

bool Gate::step(StepUnit unit) {
  const std::lock_guard lock(mutex_);
  if (!anyWaiting() || !allStopped()) return false;
  halt_.reset();
  stepping_ = unit;
  std::fill(waiting_.begin(), waiting_.end(), false);
  changed_.notify_all();
  return true;
}

void Gate::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  const bool all_here = allStopped();
  if (!all_here) halt_ = firstCommonGate();
  changed_.notify_all();
}

bool Gate::allStopped() const {
  for (std::size_t r = 0; r < passed_.size(); ++r)
    if (!waiting_[r] && !left_[r]) return false;
  return true;
}

bool Gate::anyWaiting() const {
  return std::find(waiting_.begin(), waiting_.end(), true) != waiting_.end();
}

std::optional<traces::Place> Gate::stoppedAt() const {
  const std::lock_guard lock(mutex_);
  return anyWaiting() && allStopped() ? std::optional(place_) : std::nullopt;
}

std::optional<traces::Place> Gate::waitUntilStopped() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return allStopped(); });
  return anyWaiting() ? std::optional(place_) : std::nullopt;
}

bool Gate::over() const {
  const std::lock_guard lock(mutex_);
  return std::find(left_.begin(), left_.end(), false) == left_.end();
}

bool Gate::stopRequested() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace ringscope::engine
