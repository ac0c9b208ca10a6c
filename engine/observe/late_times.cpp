// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/late_times.h"

#include <algorithm>
#include <exception>

namespace ringscope::engine {

LateTimes::LateTimes(traces::WorldRank rank, traces::Recorder& recorder,
                     std::unique_ptr<DeviceQueue> queue)
    : rank_(rank), recorder_(recorder), queue_(std::move(queue)) {}

LateTimes::~LateTimes() {
  settle(true);
  send();
}

void LateTimes::begin(traces::Event& event) noexcept {
  if (!mark(last_ + 1, false)) return;
  event.pending = ++last_;
  event.clock = traces::Clock::kDevice;
  event.queue = 1;
}

void LateTimes::end(const traces::Event& event) noexcept {
  const bool kept = recorder_.event(event);
  if (event.pending == 0 || !mark(event.pending, true)) return;
  if (!kept) dropped_.insert(event.pending);
  settle(false);
  constexpr std::size_t kTogether = 64;
  if (known_.size() >= kTogether || marks_.empty()) send();
}

bool LateTimes::mark(std::uint32_t pending, bool is_end) {
  if (!queue_) return false;
  try {
    queue_->mark();
  } catch (const std::exception&) {
    queue_.reset();
    return false;
  }
  marks_.push_back({pending, is_end});
  return true;
}

std::optional<std::int64_t> LateTimes::nextReached(bool wait) {
  if (!queue_ || marks_.empty()) return {};
  try {
    return queue_->nextReached(wait);
  } catch (const std::exception&) {
    queue_.reset();
    return {};
  }
}

void LateTimes::settle(bool wait) {
  while (const auto reached = nextReached(wait)) {
    const Mark mark = marks_.front();
    marks_.pop_front();
    const std::int64_t at = recorder_.toRunClock(*reached);
    if (!mark.is_end) {
      begun_[mark.pending] = at;
      continue;
    }
    const std::int64_t begin = begun_.extract(mark.pending).mapped();
    if (dropped_.erase(mark.pending) == 0)
      known_.push_back({rank_, mark.pending, begin, begin, std::max(begin, at)});
  }
}

void LateTimes::send() {
  if (!known_.empty()) recorder_.times(known_);
  known_.clear();
}

}  // namespace ringscope::engine
