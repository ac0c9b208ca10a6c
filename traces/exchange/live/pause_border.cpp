// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/live/pause_border.h"

#include <algorithm>

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

constexpr const char* kHold = R"({"line":"hold"})";

std::string pauseAt(std::int64_t step) {
  return R"({"line":"pause","step":)" + std::to_string(step) + "}";
}

}  // namespace

void PauseBorder::begin(int world_size) {
  *this = PauseBorder();
  world_size_ = world_size;
}

void PauseBorder::come(WorldRank rank, bool takes_pauses) {
  ranks_[rank] = {takes_pauses, std::nullopt, false};
  if (state_ == PauseState::kAsked) messages_.emplace_back(rank, kHold);
  if (border_ >= 0) messages_.emplace_back(rank, pauseAt(border_));
}

void PauseBorder::leave(WorldRank rank) {
  ranks_.erase(rank);
  if (ranks_.empty()) state_ = PauseState::kGoing;
  settle();
}

std::string PauseBorder::refusal() const {
  if (ranks_.empty()) return "no job is connected";
  if (static_cast<int>(ranks_.size()) < world_size_)
    return "only " + std::to_string(ranks_.size()) + " of " + describeCount(world_size_, "rank") +
           " are connected; the others could not be held";
  for (const auto& [rank, known] : ranks_)
    if (!known.takes_pauses)
      return "the job does not take pauses: rank " + toString(rank) +
             " was started without record(pause=True) or RINGSCOPE_PAUSE=1";
  return "";
}

void PauseBorder::pause() {
  if (state_ != PauseState::kGoing || !refusal().empty()) return;
  state_ = PauseState::kAsked;
  border_ = -1;
  for (auto& [rank, known] : ranks_) known.step.reset(), known.stands = false;
  sendAll(kHold);
}

void PauseBorder::go() {
  if (state_ == PauseState::kGoing) return;
  state_ = PauseState::kGoing;
  border_ = -1;
  sendAll(R"({"line":"go"})");
}

void PauseBorder::step() {
  if (state_ != PauseState::kPaused) return;
  state_ = PauseState::kPausing;
  ++border_;
  for (auto& [rank, known] : ranks_) known.stands = false;
  sendAll(pauseAt(border_));
}

void PauseBorder::held(WorldRank rank, std::int64_t step) {
  const auto known = ranks_.find(rank);
  if (state_ != PauseState::kAsked || known == ranks_.end()) return;
  known->second.step = step;
  settle();
}

void PauseBorder::paused(WorldRank rank, std::int64_t step) {
  const auto known = ranks_.find(rank);
  if (state_ != PauseState::kPausing || known == ranks_.end() || step < border_) return;
  known->second.stands = true;
  settle();
}

/// Moves to the next state when all ranks have sent what it needs.
void PauseBorder::settle() {
  if (ranks_.empty()) return;
  const auto all = [&](auto has) {
    return std::ranges::all_of(ranks_, [&](const auto& one) { return has(one.second); });
  };
  if (state_ == PauseState::kAsked && all([](const Rank& r) { return r.step.has_value(); })) {
    for (const auto& [rank, known] : ranks_) border_ = std::max(border_, *known.step);
    state_ = PauseState::kPausing;
    sendAll(pauseAt(border_));
  }
  if (state_ == PauseState::kPausing && all([](const Rank& r) { return r.stands; }))
    state_ = PauseState::kPaused;
}

void PauseBorder::remind() {
  if (state_ != PauseState::kGoing) sendAll(R"({"line":"still"})");
}

void PauseBorder::sendAll(const std::string& line) {
  for (const auto& [rank, known] : ranks_) messages_.emplace_back(rank, line);
}

std::vector<std::pair<WorldRank, std::string>> PauseBorder::takeMessages() {
  return std::exchange(messages_, {});
}

}  // namespace ringscope::traces
