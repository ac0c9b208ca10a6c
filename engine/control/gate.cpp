// SPDX-License-Identifier: Apache-2.0
#include "engine/control/gate.h"

#include <algorithm>

namespace ringscope::engine {

Gate::Gate(int ranks)
    : passed_(static_cast<std::size_t>(ranks), 0),
      waiting_(static_cast<std::size_t>(ranks), false),
      left_(static_cast<std::size_t>(ranks), false),
      holding_(static_cast<std::size_t>(ranks), false) {}

bool BreakPoint::matches(const traces::Place& place) const {
  return (!train_step || *train_step == place.train_step) && (!layer || *layer == place.layer) &&
         (!direction || *direction == place.direction) && (!stage || *stage == place.stage);
}

/// A rank that is held at its gate has not passed it.
std::int64_t Gate::firstCommonGate() const {
  std::int64_t last = 0;
  for (std::size_t r = 0; r < passed_.size(); ++r)
    last = std::max(last, passed_[r] - (holding_[r] ? 1 : 0));
  return last + 1;
}

/// True when `place` is where the step that is under way should end.
bool Gate::reached(std::int64_t number, const traces::Place& place) const {
  if (halt_) return number >= *halt_;
  if (break_ && number >= break_from_ && break_->matches(place)) return true;
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

bool Gate::arrive(int rank, const traces::Place& place, const std::function<bool()>& hold) {
  const auto r = static_cast<std::size_t>(rank);
  std::unique_lock lock(mutex_);
  const std::int64_t number = ++passed_[r];
  bool stood = reached(number, place);
  if (stood) standAt(lock, r, number, place);
  // Steps and breaks end here once; only a new pause or stop halts the same gate again.
  auto halted = [&] { return stood ? halt_ && number >= *halt_ : reached(number, place); };
  while (hold && hold()) {
    holding_[r] = true;
    changed_.wait(lock, [&] { return halted() || !hold(); });
    holding_[r] = false;
    if (halted()) stood = standAt(lock, r, number, place);
  }
  return stood;
}

/// Stands here until the run goes on.
bool Gate::standAt(std::unique_lock<std::mutex>& lock, std::size_t r, std::int64_t number,
                   const traces::Place& place) {
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

void Gate::poke() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Gate::setBreak(const std::optional<BreakPoint>& at) {
  const std::lock_guard lock(mutex_);
  break_ = at;
  break_from_ = firstCommonGate();
}

void Gate::leave(int rank) {
  const std::lock_guard lock(mutex_);
  left_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

void Gate::pause() {
  const std::lock_guard lock(mutex_);
  if (!halt_ && !stepping_) halt_ = firstCommonGate();
  changed_.notify_all();
}

void Gate::resume() {
  const std::lock_guard lock(mutex_);
  halt_.reset();
  stepping_.reset();
  break_from_ = std::max(break_from_, *std::max_element(passed_.begin(), passed_.end()) + 1);
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
