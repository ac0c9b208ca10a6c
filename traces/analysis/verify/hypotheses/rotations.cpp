// SPDX-License-Identifier: Apache-2.0
// Mistakes in how blocks and their gradients go round the ring.
#include <algorithm>
#include <string>

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

/// Returns the number of places in the ring from a rank's block back to another rank's block.
std::ptrdiff_t distance(const Seat& attending, const Seat& planned) {
  const auto& ring = attending.forward->ring;
  const auto size = std::ssize(ring);
  const auto self = std::ranges::find(ring, attending.rank),
             source = std::ranges::find(ring, planned.rank);
  return ((self - source) % size + size) % size;
}

/// The blocks from a ring step on are those of the step before. `way`: 1 for a ring that sends to
/// the next rank, −1 for the previous one.
BlockedAttention lagging(const HypothesisSetting& setting, std::ptrdiff_t step,
                         std::ptrdiff_t way) {
  const auto old = [step, way](const Seat& attending, const Seat& planned) {
    const auto size = std::ssize(attending.forward->ring);
    const std::ptrdiff_t at = (way * distance(attending, planned) + size) % size;
    return Choice{at < step ? planned.rank : inRing(attending, planned.rank, way), planned.rank};
  };
  BlockedAttention how = choosing(setting, old, old);
  how.how =
      "ring step " + std::to_string(step) + " and later ones use the block of the step before";
  return how;
}

/// Sums that stop so many ranks before or after their home.
BlockedAttention displaced(const HypothesisSetting& setting, std::ptrdiff_t places) {
  return choosing(setting, {}, [places](const Seat& attending, const Seat& planned) {
    return Choice{planned.rank, inRing(attending, planned.rank, places)};
  });
}

}  // namespace

std::vector<BlockedAttention> ownValues(const HypothesisSetting& setting) {
  if (!turns(setting)) return {};
  return {choosing(setting, ofSelf, ofSelf), choosing(setting, ofSelf, ofFirst)};
}

std::vector<BlockedAttention> ownValuesBackward(const HypothesisSetting& setting) {
  if (!turns(setting)) return {};
  return {choosing(setting, {}, ofFirst)};
}

std::vector<BlockedAttention> mirroredRing(const HypothesisSetting& setting) {
  if (!turns(setting)) return {};
  return {choosing(setting, mirrored, mirrored)};
}

std::vector<BlockedAttention> lostHop(const HypothesisSetting& setting) {
  if (!turns(setting)) return {};
  const auto size = std::ssize(setting.plan.seats());
  std::vector<BlockedAttention> all;
  for (std::ptrdiff_t places = 1; places < size; ++places) {
    const auto leaves = [places](const Seat& attending, const Seat& planned) {
      return distance(attending, planned) == places ? Choice{WorldRank::none(), WorldRank::none()}
                                                    : Choice{planned.rank, planned.rank};
    };
    all.push_back(choosing(setting, leaves, leaves));
    all.back().how = "the block of the rank " + std::to_string(places) +
                     (places == 1 ? " place" : " places") + " before is not attended";
  }
  for (std::ptrdiff_t step = 1; step < size; ++step)
    for (const std::ptrdiff_t way : {1, -1}) all.push_back(lagging(setting, step, way));
  return all;
}

std::vector<BlockedAttention> displacedSums(const HypothesisSetting& setting) {
  if (!turns(setting)) return {};
  std::vector<BlockedAttention> all = {displaced(setting, -1)};
  if (!setting.plan.isAssumed()) return all;
  all.push_back(displaced(setting, 1));
  all.push_back(choosing(setting, {}, [](const Seat& attending, const Seat& planned) {
    return Choice{planned.rank, attending.rank};
  }));
  all.back().how = "the sums of all blocks are added to those of the own block";
  all.push_back(choosing(setting, {}, [](const Seat& attending, const Seat& planned) {
    return Choice{planned.rank, attending.rank == planned.rank ? planned.rank : WorldRank::none()};
  }));
  all.back().how = "the sums of other ranks' blocks are lost";
  return all;
}

}  // namespace ringscope::traces
