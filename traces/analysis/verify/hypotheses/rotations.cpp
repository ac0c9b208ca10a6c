// SPDX-License-Identifier: Apache-2.0
// Mistakes in how blocks and their gradients go round the ring.
#include <algorithm>

#include "traces/analysis/verify/hypotheses/made.h"

namespace ringscope::traces {
namespace {

using Seat = PlannedBlocks::Seat;
using Choice = PlannedBlocks::Choice;

/// The rank that is so many places after another in a rank's ring; none: it is not in it.
WorldRank inRing(const Seat& seat, WorldRank from, std::ptrdiff_t places) {
  const auto& ring = seat.forward->ring;
  const auto at = std::ranges::find(ring, from);
  if (at == ring.end()) return WorldRank::none();
  const auto size = std::ssize(ring);
  return ring[static_cast<std::size_t>(((at - ring.begin() + places) % size + size) % size)];
}

Choice ofSelf(const Seat& attending, const Seat& planned) {
  return {attending.rank, planned.rank};
}

/// The block with which backward began, which need not be the rank's own.
Choice ofFirst(const Seat& attending, const Seat& planned) {
  return {attending.backward->stages.front().source_rank, planned.rank};
}

/// A ring that turns the other way brings the block of the rank on the other side.
Choice mirrored(const Seat& attending, const Seat& planned) {
  const auto& ring = attending.forward->ring;
  const auto self = std::ranges::find(ring, attending.rank),
             source = std::ranges::find(ring, planned.rank);
  if (self == ring.end() || source == ring.end()) return {planned.rank, planned.rank};
  const WorldRank other = inRing(attending, attending.rank, self - source);
  return {other, other};
}

bool turns(const HypothesisSetting& setting) {
  return std::ranges::any_of(setting.plan.seats(),
                             [](const auto& seat) { return seat.second.forward->ring.size() > 1; });
}

BlockedAttention choosing(const HypothesisSetting& setting,
                          const PlannedBlocks::SourceChoice& forward,
                          const PlannedBlocks::SourceChoice& backward) {
  return {[&setting, forward](const BlockRow& row) {
            return setting.planned(row, Direction::kForward, forward);
          },
          [&setting, backward](const BlockRow& row) {
            return setting.planned(row, Direction::kBackward, backward);
          }};
}

/// Sums that stop so many ranks before or after their home.
BlockedAttention displaced(const HypothesisSetting& setting, std::ptrdiff_t places) {
  return choosing(setting, {}, [places](const Seat& attending, const Seat& planned) {
    return Choice{planned.rank, inRing(attending, planned.rank, places)};
  });
}

}  // namespace

std::optional<BlockedAttention> ownValues(const HypothesisSetting& setting) {
  if (!turns(setting)) return std::nullopt;
  return choosing(setting, ofSelf, ofSelf);
}

std::optional<BlockedAttention> firstValues(const HypothesisSetting& setting) {
  if (!turns(setting)) return std::nullopt;
  return choosing(setting, ofSelf, ofFirst);
}

std::optional<BlockedAttention> ownValuesBackward(const HypothesisSetting& setting) {
  if (!turns(setting)) return std::nullopt;
  return choosing(setting, {}, ofFirst);
}

std::optional<BlockedAttention> mirroredRing(const HypothesisSetting& setting) {
  if (!turns(setting)) return std::nullopt;
  return choosing(setting, mirrored, mirrored);
}

std::optional<BlockedAttention> displacedSums(const HypothesisSetting& setting) {
  if (!turns(setting)) return std::nullopt;
  return displaced(setting, -1);
}

}  // namespace ringscope::traces
