// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/block_reading.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "traces/analysis/doctor/memory_order.h"
#include "traces/format/trace/sequence_groups.h"

namespace ringscope::traces {
namespace {

using Blocks = std::vector<const TensorRecord*>;

/// The KV of one layer: by direction and rank, in the order of ring steps.
struct LayerBlocks {
  std::array<std::map<WorldRank, Blocks>, 2> held;
};

/// One layer of one training step.
using LayerKey = std::tuple<std::int32_t, std::int32_t, Layer>;

std::map<LayerKey, LayerBlocks> blocksFor(const Trace& trace,
                                          const std::vector<WorldRank>& members) {
  std::map<LayerKey, LayerBlocks> layers;
  for (const TensorRecord& tensor : trace.tensors()) {
    if (tensor.tensor.kind != TensorKind::kKv || tensor.source_rank.isNone() ||
        tensor.pass == Pass::kRecompute || std::ranges::find(members, tensor.rank) == members.end())
      continue;
    const LayerKey key{tensor.place.train_step, tensor.microbatch, tensor.place.layer};
    layers[key].held[static_cast<std::size_t>(tensor.place.direction)][tensor.rank].push_back(
        &tensor);
  }
  for (auto& [key, layer] : layers)
    for (auto& direction : layer.held)
      for (auto& [rank, blocks] : direction)
        std::ranges::sort(blocks, {}, [](const TensorRecord* block) { return block->place.stage; });
  return layers;
}

bool same(const TensorRecord& a, const TensorRecord& b) {
  return a.hash == b.hash && a.shape == b.shape && a.dtype == b.dtype;
}

using Owners = std::map<WorldRank, const TensorRecord*>;

/// The block of each rank as it recorded its own.
Owners ownersOf(const std::map<WorldRank, Blocks>& held) {
  Owners owners;
  for (const auto& [rank, blocks] : held)
    for (const TensorRecord* block : blocks)
      if (block->source_rank == rank) owners.try_emplace(rank, block);
  return owners;
}

WorldRank findOwner(const Owners& owners, const TensorRecord& block) {
  for (const auto& [rank, own] : owners)
    if (same(*own, block)) return rank;
  return WorldRank::none();
}

/// Other values give other extremes. A mean is a sum that depends on the order.
bool sameValues(const TensorRecord& a, const TensorRecord& b) {
  constexpr double kSummed = 1e-5;
  return a.shape == b.shape && a.dtype == b.dtype && a.stats.min == b.stats.min &&
         a.stats.max == b.stats.max && a.stats.nan == 0 && b.stats.nan == 0 && a.stats.inf == 0 &&
         b.stats.inf == 0 && std::abs(a.stats.mean - b.stats.mean) <= kSummed * a.stats.abs_max;
}

/// Reads a layer in one direction, rank by rank.
class DirectionReader {
 public:
  DirectionReader(const Trace& trace, const Owners& owners, bool backward, bool forward_is_right)
      : trace_(trace), owners_(owners), backward_(backward), forward_is_right_(forward_is_right) {}

  /// Reads the blocks of one rank. Returns false when they are wrong.
  bool read(const Blocks& blocks) {
    BlockReading rank;
    bool first_again = true, others = true, reordered = true;
    for (const TensorRecord* block : blocks) {
      const auto own = owners_.find(block->source_rank);
      if (block->source_rank != block->rank) ++rank.of;
      if (own == owners_.end()) {
        reading.missing = "needs what rank " + toString(block->source_rank) +
                          " recorded too; join the files of all ranks with ringscope merge";
        continue;
      }
      compared = true;
      if (same(*own->second, *block)) continue;
      const WorldRank held = findOwner(owners_, *block);
      if (rank.wrong++ == 0) {
        rank.place = block->place;
        rank.rank = block->rank;
        rank.source = block->source_rank;
        rank.held = held;
      }
      first_again = first_again && block != blocks.front() && same(*blocks.front(), *block);
      others = others && held.exists();
      if (!reordered) continue;
      const auto by_strides = readByOtherStrides(trace_, *own->second, *block);
      rank.certain = rank.certain && by_strides.has_value();
      reordered = held.isNone() && sameValues(*own->second, *block) && by_strides.value_or(true);
    }
    if (rank.wrong == 0) return true;
    rank.recorded = !first_again || !backward_ || forward_is_right_;
    if (first_again && !backward_)
      rank.are = BlocksAre::kNeverRotated;
    else if (first_again && forward_is_right_)
      rank.are = BlocksAre::kOldInBackward;
    else if (first_again)
      rank.missing = "needs the KV blocks of forward to tell whether they were wrong already";
    else if (others)
      rank.are = BlocksAre::kOfOtherRanks;
    else if (reordered)
      rank.are = BlocksAre::kReordered;
    else
      rank.missing = "needs blocks that are those of some rank; at " + describe(rank.place) +
                     " rank " + toString(rank.rank) + " has one that is nobody's";
    rank.certain = rank.certain || rank.are != BlocksAre::kReordered;
    reading = std::move(rank);
    return false;
  }

  BlockReading reading;
  bool compared = false;

 private:
  const Trace& trace_;
  const Owners& owners_;
  bool backward_, forward_is_right_;
};

/// K and V of backward are those of forward, unless they were computed again, by whatever way.
Owners ownersInBackward(const LayerBlocks& layer, const Owners& in_forward) {
  for (const auto& [rank, blocks] : layer.held[1])
    for (const TensorRecord* block : blocks)
      if (findOwner(in_forward, *block).exists()) return in_forward;
  return ownersOf(layer.held[1]);
}

/// Reads a layer; false when it is wrong, or not known.
bool readLayer(const Trace& trace, const LayerBlocks& layer, BlockReading& reading) {
  const Owners in_forward = ownersOf(layer.held[0]);
  const Owners in_backward = ownersInBackward(layer, in_forward);
  bool forward_is_right = false;
  for (const bool backward : {false, true}) {
    DirectionReader reader(trace, backward ? in_backward : in_forward, backward, forward_is_right);
    for (const auto& [rank, blocks] : layer.held[backward ? 1 : 0])
      if (!reader.read(blocks)) {
        reading = std::move(reader.reading);
        return false;
      }
    forward_is_right = reader.compared && reader.reading.missing.empty();
    if (!reader.reading.missing.empty()) {
      reading = std::move(reader.reading);
      return false;
    }
  }
  return true;
}

/// By the recorded schedules every rank attends its own block alone.
bool allKeepTheirOwn(const Trace& trace) {
  if (trace.run() && trace.run()->cp == 1) return true;
  if (trace.schedules().empty()) return false;
  for (int rank = 0; rank < trace.worldSize(); ++rank)
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      const auto& all = trace.schedules();
      const bool known = std::ranges::any_of(all, [&](const ScheduleRecord& schedule) {
        return schedule.rank == WorldRank::of(rank) && schedule.direction == direction;
      });
      if (!known) return false;
    }
  return std::ranges::none_of(trace.schedules(), [](const ScheduleRecord& schedule) {
    return std::ranges::any_of(schedule.stages, [&](const StageRecord& stage) {
      return stage.source_rank != schedule.rank;
    });
  });
}

/// By the recorded schedules all blocks come at once.
bool areGathered(const Trace& trace) {
  return std::ranges::any_of(trace.schedules(), [](const ScheduleRecord& schedule) {
    return schedule.stages.size() > 1 &&
           schedule.stages[0].ring_step == schedule.stages[1].ring_step;
  });
}

}  // namespace

BlockReading readBlocks(const Trace& trace) {
  BlockReading not_known;
  not_known.missing = "needs the hashes of the KV blocks that ranks held at each ring step";
  bool any_right = false, any_unknown = false;
  for (const auto& members : sequenceGroups(trace))
    for (const auto& [key, layer] : blocksFor(trace, members)) {
      BlockReading reading;
      if (readLayer(trace, layer, reading)) {
        any_right = true;
      } else if (reading.recorded) {
        return reading;
      } else {
        not_known = std::move(reading);
        any_unknown = true;
      }
    }
  if (!any_unknown && (any_right || allKeepTheirOwn(trace)))
    not_known.are = BlocksAre::kOfTheirSource;
  if (!any_right && !any_unknown && areGathered(trace)) {
    not_known.recorded = true;
    not_known.missing =
        "needs KV that goes round a ring; of blocks that are gathered at once no hashes are "
        "recorded";
  }
  return not_known;
}

RuleResult answerFrom(const BlockReading& blocks, BlocksAre wrong, const FindingWords& words) {
  if (blocks.are == BlocksAre::kUnknown)
    return blocks.recorded ? undecided(blocks.missing) : notObservable(blocks.missing);
  if (blocks.are == BlocksAre::kOfTheirSource) return clear();
  if (blocks.are != wrong)
    return undecided("needs KV blocks that are not wrong in another way already");
  return found({.confidence = blocks.certain ? Confidence::kCertain : Confidence::kLikely,
                .title = words.title,
                .place = blocks.place,
                .rank = blocks.rank,
                .buffer = "kv",
                .evidence = fillIn(words.evidence, {{"rank", toString(blocks.rank)},
                                                    {"source", toString(blocks.source)},
                                                    {"held", toString(blocks.held)},
                                                    {"wrong", std::to_string(blocks.wrong)},
                                                    {"of", std::to_string(blocks.of)}}),
                .remedy = words.remedy});
}

}  // namespace ringscope::traces
