// SPDX-License-Identifier: Apache-2.0
#include "engine/gate/gate.h"

#include <algorithm>
#include <new>

#include "engine/gate/gate_state.h"

namespace ringscope::engine {

std::size_t Gate::bytesFor(int ranks) {
  return sizeof(State) + static_cast<std::size_t>(ranks) * sizeof(Rank);
}

Gate::Gate(int ranks) : Gate(ranks, std::nullopt, true) {}
Gate::Gate(int ranks, SharedMemory shared) : Gate(ranks, std::optional(std::move(shared)), true) {}

Gate Gate::inheritedOr(int ranks) {
  auto shared = SharedMemory::inherited(kVariable, bytesFor(ranks));
  return shared ? Gate(ranks, std::move(shared), false) : Gate(1);
}

Gate::Gate(int ranks, std::optional<SharedMemory> shared, bool fresh) : shared_(std::move(shared)) {
  if (!shared_) own_ = std::make_unique<std::byte[]>(bytesFor(ranks));
  void* const memory = shared_ ? shared_->data() : own_.get();
  if (!fresh) {
    state_ = static_cast<State*>(memory);
    return;
  }
  state_ = new (memory) State{};
  state_->ranks = ranks;
  for (int r = 0; r < ranks; ++r) new (reinterpret_cast<Rank*>(state_ + 1) + r) Rank{};
  pthread_mutexattr_t kind;
  ::pthread_mutexattr_init(&kind);
  ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&state_->mutex, &kind);
  ::pthread_mutexattr_destroy(&kind);
}

Gate::~Gate() {
  if (own_) ::pthread_mutex_destroy(&state_->mutex);
}

int Gate::descriptor() const {
  return shared_ ? shared_->descriptor() : -1;
}

std::span<Gate::Rank> Gate::ranks() const {
  return {reinterpret_cast<Rank*>(state_ + 1), static_cast<std::size_t>(state_->ranks)};
}

/// Returns the number of the first gate that no rank has passed. A held rank has not passed its
/// gate.
std::int64_t Gate::firstCommonGate() const {
  std::int64_t last = 0;
  for (const Rank& rank : ranks()) last = std::max(last, rank.passed - (rank.holding ? 1 : 0));
  return last + 1;
}

std::int64_t Gate::lastPassed() const {
  std::int64_t last = 0;
  for (const Rank& rank : ranks()) last = std::max(last, rank.passed);
  return last;
}

bool Gate::breaksAt(std::int64_t number, const traces::Place& place) const {
  const State& s = *state_;
  return s.break_at && number >= s.break_from && s.break_at->matches(place);
}

/// Reports whether `place` is where the current step should end.
bool Gate::reached(std::int64_t number, const traces::Place& place) const {
  const State& s = *state_;
  if (s.halt) return number >= *s.halt;
  if (breaksAt(number, place)) return true;
  if (!s.stepping) return false;
  if (*s.stepping == StepUnit::kLayer)
    return place.layer != s.place.layer || place.direction != s.place.direction;
  if (*s.stepping == StepUnit::kTrainStep) return place.train_step != s.place.train_step;
  return true;
}

bool Gate::arrive(GroupRank number_of_rank, const traces::Place& place,
                  const std::function<bool()>& hold) {
  Rank& rank = ranks()[number_of_rank.index()];
  Lock lock(*state_);
  const std::int64_t number = ++rank.passed;
  rank.place = place;
  if (breaksAt(number, place)) state_->only_held = false;
  bool stood = reached(number, place);
  if (stood) standAt(lock, rank, number, place);
  // Steps and breaks end here once; only a new pause or stop halts the same gate again.
  auto halted = [&] {
    return stood ? state_->halt && number >= *state_->halt : reached(number, place);
  };
  while (hold && hold()) {
    rank.holding = true;
    lock.waitUntil([&] { return halted() || !hold(); });
    rank.holding = false;
    if (halted()) stood = standAt(lock, rank, number, place);
  }
  return stood;
}

/// Blocks this rank until the run goes on.
bool Gate::standAt(Lock& lock, Rank& rank, std::int64_t number, const traces::Place& place) {
  State& s = *state_;
  if (!s.halt) s.halt = number;
  s.stepping.reset();
  s.place = place;
  rank.waiting = true;
  lock.changed();
  // A stop ends all ranks together. If one process ended early, it could end something that the
  // others still need to reach this gate.
  auto ends = [&] { return s.stopping && number >= *s.halt; };
  lock.waitUntil([&] { return ends() ? allStopped() : !s.halt || number < *s.halt; });
  if (ends()) throw StopRequested();
  rank.waiting = false;
  return true;
}

void Gate::poke() {
  Lock lock(*state_);
  lock.changed();
}

void Gate::setBreak(const std::optional<BreakPoint>& at) {
  const Lock lock(*state_);
  state_->break_at = at;
  state_->break_from = firstCommonGate();
}

void Gate::leave(GroupRank rank) {
  Lock lock(*state_);
  ranks()[rank.index()].left = true;
  lock.changed();
}

void Gate::pause() {
  Lock lock(*state_);
  if (!state_->halt && !state_->stepping) state_->halt = firstCommonGate();
  state_->only_held = false;
  lock.changed();
}

void Gate::hold() {
  Lock lock(*state_);
  if (state_->halt || state_->stepping) return;
  state_->halt = firstCommonGate();
  state_->only_held = true;
  lock.changed();
}

void Gate::release() {
  Lock lock(*state_);
  if (!state_->only_held) return;
  standDown();
  lock.changed();
}

/// Marks all standing ranks as on their way, even before they wake up. A stop cannot be undone.
void Gate::standDown() {
  if (state_->stopping) return;
  state_->halt.reset();
  state_->only_held = false;
  for (Rank& rank : ranks()) rank.waiting = false;
}

void Gate::resume() {
  Lock lock(*state_);
  state_->stepping.reset();
  state_->break_from = std::max(state_->break_from, lastPassed() + 1);
  standDown();
  lock.changed();
}

bool Gate::step(StepUnit unit) {
  Lock lock(*state_);
  if (!anyWaiting() || !allStopped()) return false;
  state_->stepping = unit;
  standDown();
  lock.changed();
  return true;
}

void Gate::stop() {
  Lock lock(*state_);
  state_->stopping = true;
  const bool all_here = allStopped();
  if (!all_here) state_->halt = firstCommonGate();
  lock.changed();
}

bool Gate::allStopped() const {
  return std::ranges::all_of(ranks(), [](const Rank& r) { return r.waiting || r.left; });
}

bool Gate::anyWaiting() const {
  return std::ranges::any_of(ranks(), [](const Rank& r) { return r.waiting; });
}

std::optional<traces::Place> Gate::stoppedAt() const {
  const Lock lock(*state_);
  const bool stands = !state_->stopping && anyWaiting() && allStopped();
  return stands ? std::optional(state_->place) : std::nullopt;
}

std::vector<std::pair<GroupRank, traces::Place>> Gate::onTheirWay() const {
  const Lock lock(*state_);
  std::vector<std::pair<GroupRank, traces::Place>> late;
  for (int r = 0; r < state_->ranks; ++r) {
    const Rank& rank = ranks()[static_cast<std::size_t>(r)];
    if (!rank.waiting && !rank.left) late.emplace_back(GroupRank::of(r), rank.place);
  }
  return late;
}

std::optional<traces::Place> Gate::waitUntilStopped() {
  Lock lock(*state_);
  lock.waitUntil([&] { return allStopped(); });
  return anyWaiting() ? std::optional(state_->place) : std::nullopt;
}

bool Gate::over() const {
  const Lock lock(*state_);
  return std::ranges::all_of(ranks(), [](const Rank& r) { return r.left; });
}

bool Gate::stopRequested() const {
  const Lock lock(*state_);
  return state_->stopping;
}

}  // namespace ringscope::engine
