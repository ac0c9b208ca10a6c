// SPDX-License-Identifier: Apache-2.0
#include "engine/progress/stall_watch.h"

#include <algorithm>

namespace ringscope::engine {

using traces::WorldRank;
namespace {

/// Returns the divisor of elapsed time below which CPU time counts as idle. Four ranks per core
/// each still get far more than a hundredth of a core. More ranks than that share cores, perhaps
/// with other programs, so each of them may get proportionally less while it computes.
std::int64_t idleDivisor(int ranks, int cores) {
  constexpr int kHundredth = 100, kRanksPerCore = 4;
  return std::int64_t{kHundredth} * std::max(1, ranks / (kRanksPerCore * std::max(1, cores)));
}

}  // namespace

StallWatch::StallWatch(const ProgressBoard& board, int ranks, std::chrono::milliseconds deadline,
                       NameOf name_of, int cores)
    : board_(board),
      deadline_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(deadline).count()),
      idle_divisor_(idleDivisor(ranks, cores)),
      name_of_(std::move(name_of)),
      seen_(static_cast<std::size_t>(ranks), Seen{0, 0, traces::steadyNow()}) {}

std::vector<WorldRank> StallWatch::ranks() const {
  std::vector<WorldRank> all;
  for (std::size_t r = 0; r < seen_.size(); ++r) all.push_back(WorldRank::of(r));
  return all;
}

/// Returns whether the rank has made progress since the last call. A rank without a heartbeat is
/// still starting and counts as moving.
bool StallWatch::moves(WorldRank rank, std::int64_t now) {
  const ProgressSlot& slot = board_.slot(rank);
  Seen& seen = seen_[rank.index()];
  const std::int64_t hardly_anything =
      std::max<std::int64_t>(1'000'000, (now - seen.moved_ns) / idle_divisor_);
  const bool moved =
      slot.epoch != seen.epoch || slot.cpu_ns > seen.cpu_ns + hardly_anything || slot.paused;
  if (!moved && slot.beat_ns != 0) return false;
  const std::int64_t moved_ns = slot.beat_ns != 0 ? now : seen.moved_ns;
  seen = {slot.epoch, slot.cpu_ns, moved_ns};
  return true;
}

std::string StallWatch::stuck(std::int64_t now) {
  int running = 0, waiting_too_long = 0;
  for (const WorldRank rank : ranks()) {
    const std::string name = name_of_(rank);
    if (name.empty()) continue;
    ++running;
    if (moves(rank, now)) continue;
    const ProgressSlot& slot = board_.slot(rank);
    const std::int64_t still_ns = now - seen_[rank.index()].moved_ns;
    if (still_ns < deadline_ns_) continue;
    const bool silent = now - slot.beat_ns > deadline_ns_;
    if (silent || !slot.waiting.load().waits)
      return name + " is stuck: it has not moved for " + std::to_string(still_ns / 1'000'000'000) +
             " s, " + slot.describe() + whoWaits();
    ++waiting_too_long;
  }
  if (running > 0 && waiting_too_long == running)
    return "the ranks wait for each other" + whoWaits();
  return {};
}

std::string StallWatch::whoWaits() const {
  std::string text;
  for (const WorldRank rank : ranks()) {
    const ProgressSlot& slot = board_.slot(rank);
    const Waiting waiting = slot.waiting;
    if (name_of_(rank).empty() || !waiting.waits) continue;
    text += "; rank " + toString(rank) + " waits for " +
            (waiting.peer.isNone() ? "its group" : "rank " + toString(waiting.peer)) + ", " +
            slot.describe();
  }
  return text;
}

}  // namespace ringscope::engine
