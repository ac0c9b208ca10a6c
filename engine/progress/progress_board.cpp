// SPDX-License-Identifier: Apache-2.0
#include "engine/progress/progress_board.h"

#include <pthread.h>

#include <ctime>

#include "traces/format/core/clock.h"

namespace ringscope::engine {
namespace {

thread_local ProgressSlot* current = nullptr;

std::size_t byteSize(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(ProgressSlot);
}

std::int64_t cpuOf(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

traces::Place ProgressSlot::place() const {
  return {train_step, layer.load(), static_cast<traces::Direction>(direction.load()),
          ring_step.load()};
}

std::string ProgressSlot::describe() const {
  if (epoch == 0) return "before its first step";
  const std::int32_t kind = operation;
  return (kind < 0 ? ""
                   : std::string(traces::name(static_cast<traces::EventKind>(kind))) + " at ") +
         traces::describe(place());
}

ProgressBoard::ProgressBoard(int ranks)
    : memory_(byteSize(ranks)), slots_(static_cast<ProgressSlot*>(memory_.data())) {
  // The memory is zeroed, so every atomic is 0.
  for (int rank = 0; rank < ranks; ++rank) slots_[rank].operation = -1;
}

ProgressReport::ProgressReport(traces::WorldRank rank)
    : memory_(SharedMemory::inherited(ProgressBoard::kVariable, byteSize(rank.value() + 1))) {
  if (!memory_) return;
  slot_ = static_cast<ProgressSlot*>(memory_->data()) + rank.value();
  begin();
}

ProgressReport::ProgressReport(ProgressSlot& slot) : slot_(&slot) {
  begin();
}

void ProgressReport::begin() {
  current = slot_;
  clockid_t clock{};
  ::pthread_getcpuclockid(::pthread_self(), &clock);
  heart_ = std::thread([this, clock] {
    while (!ended_) {
      slot_->cpu_ns = cpuOf(clock);
      slot_->beat_ns = traces::steadyNow();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
}

ProgressReport::~ProgressReport() {
  if (!slot_) return;
  current = nullptr;
  ended_ = true;
  heart_.join();
}

void reportPlace(const traces::Place& place) {
  if (!current) return;
  current->train_step = place.train_step;
  current->layer = place.layer;
  current->direction = static_cast<std::int32_t>(place.direction);
  current->ring_step = place.stage;
  ++current->epoch;
}

void reportOperation(traces::EventKind kind) {
  if (current) current->operation = static_cast<std::int32_t>(kind);
}

void reportFailure() {
  if (current) current->failed_ns = traces::steadyNow();
}

WaitReport::WaitReport(traces::WorldRank peer) {
  if (current) current->waiting = Waiting{true, peer};
}
WaitReport::~WaitReport() {
  if (current) current->waiting = Waiting{};
}
PauseReport::PauseReport() {
  if (current) current->paused = 1;
}
PauseReport::~PauseReport() {
  if (current) current->paused = 0;
}

}  // namespace ringscope::engine
