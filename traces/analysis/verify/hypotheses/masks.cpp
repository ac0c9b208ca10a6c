// SPDX-License-Identifier: Apache-2.0
// Mistakes in who attends whom.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "traces/analysis/verify/hypotheses/made.h"

namespace ringscope::traces {

BlockedAttention attending(const HypothesisSetting& setting, PairFilter allowed) {
  const auto keys = [&setting, allowed = std::move(allowed)](const BlockRow& row) {
    const std::size_t query = setting.tokenFor(row);
    const PlannedBlocks::Seat* seat = setting.plan.findSeat(setting.headFor(row), query);
    KeyBlock block;
    for (std::size_t key = 0; key < setting.layer.tokens.size(); ++key)
      if (allowed(seat, query, key)) block.keys.push_back({key, key});
    return KeyBlocks{std::move(block)};
  };
  return {keys, keys};
}

namespace {

using Seat = PlannedBlocks::Seat;

BlockedAttention under(const HypothesisSetting& setting, const AttentionMask& mask) {
  return attending(setting, [&setting, mask](const Seat*, std::size_t query, std::size_t key) {
    return setting.allows(mask, query, key);
  });
}

/// Returns the rank whose block has a key, as another rank sees it.
const Seat* sourceOf(const HypothesisSetting& setting, const Seat& seat, std::size_t key) {
  return setting.plan.holds(seat, key) ? &seat : setting.plan.findSeat(setting.layer.owners[key]);
}

/// The smallest rectangle of local rows and keys with all pairs that a mask allows in one block.
struct Rectangle {
  std::size_t q_begin = kNowhere, q_end = 0, k_begin = kNowhere, k_end = 0;

  void add(std::size_t q, std::size_t k) {
    q_begin = std::min(q_begin, q);
    q_end = std::max(q_end, q + 1);
    k_begin = std::min(k_begin, k);
    k_end = std::max(k_end, k + 1);
  }
  bool holds(std::size_t q, std::size_t k) const {
    return q >= q_begin && q < q_end && k >= k_begin && k < k_end;
  }
};
using Rectangles = std::map<std::pair<WorldRank, WorldRank>, Rectangle>;

Rectangles findRectangles(const HypothesisSetting& setting) {
  Rectangles all;
  for (const auto& [rank, seat] : setting.plan.seats())
    for (std::size_t q = 0; q < seat.rows.size(); ++q)
      for (std::size_t key = 0; key < setting.layer.tokens.size(); ++key) {
        const Seat* source = sourceOf(setting, seat, key);
        if (source && setting.allows(setting.mask, seat.rows[q], key))
          all[{rank, source->rank}].add(q, setting.plan.localRow(*source, key));
      }
  return all;
}

/// A mask within one block: whether local query row q may attend local key k.
using BlockMask = bool (*)(const Rectangle& block, std::size_t q, std::size_t k);

BlockedAttention attendingWithin(const HypothesisSetting& setting,
                                 const std::shared_ptr<const Rectangles>& blocks, BlockMask mask) {
  return attending(
      setting, [&setting, blocks, mask](const Seat* seat, std::size_t query, std::size_t key) {
        const Seat* source = seat ? sourceOf(setting, *seat, key) : nullptr;
        if (!source) return false;
        const auto block = blocks->find({seat->rank, source->rank});
        return mask(block == blocks->end() ? Rectangle() : block->second,
                    setting.plan.localRow(*seat, query), setting.plan.localRow(*source, key));
      });
}

/// Returns the place of a rank in the ring of another.
std::ptrdiff_t placeIn(const Seat& seat, WorldRank rank) {
  return std::ranges::find(seat.forward->ring, rank) - seat.forward->ring.begin();
}

/// Blocks of ranks that come after the own one in a ring, or before it, are attended whole.
BlockedAttention wholeBlocks(const HypothesisSetting& setting, bool after) {
  return attending(
      setting, [&setting, after](const Seat* seat, std::size_t query, std::size_t key) {
        const Seat* source = seat ? sourceOf(setting, *seat, key) : nullptr;
        if (!source) return false;
        const std::ptrdiff_t ahead = placeIn(*seat, source->rank) - placeIn(*seat, seat->rank);
        return (after ? ahead > 0 : ahead < 0) || setting.allows(setting.mask, query, key);
      });
}

}  // namespace

std::vector<BlockedAttention> droppedMask(const HypothesisSetting& setting) {
  std::vector<BlockedAttention> all;
  AttentionMask mask = setting.mask;
  mask.window = 0;
  if (setting.mask.window > 0) all.push_back(under(setting, mask));
  if (setting.mask.causal) {
    all.push_back(under(setting, {}));
    all.back().how = "every query attends all keys";
  }
  return all;
}

std::vector<BlockedAttention> acrossDocuments(const HypothesisSetting& setting) {
  if (!setting.mask.by_document) return {};
  AttentionMask mask = setting.mask;
  mask.by_document = false;
  mask.documents.clear();
  return {under(setting, mask)};
}

std::vector<BlockedAttention> futureBlocks(const HypothesisSetting& setting) {
  if (!setting.mask.causal) return {};
  return {attending(setting,
                    [&setting](const Seat* seat, std::size_t query, std::size_t key) {
                      return (seat && !setting.plan.holds(*seat, key)) ||
                             setting.allows(setting.mask, query, key);
                    }),
          wholeBlocks(setting, true), wholeBlocks(setting, false)};
}

std::vector<BlockedAttention> ownBlocks(const HypothesisSetting& setting) {
  return {attending(setting, [&setting](const Seat* seat, std::size_t query, std::size_t key) {
    return seat && setting.plan.holds(*seat, key) && setting.allows(setting.mask, query, key);
  })};
}

std::vector<BlockedAttention> causalBlocks(const HypothesisSetting& setting) {
  constexpr std::size_t kMostTokens = 4096;  // each pair of them is looked at
  if (!setting.mask.causal || setting.layer.tokens.size() > kMostTokens) return {};
  const auto blocks = std::make_shared<const Rectangles>(findRectangles(setting));
  const BlockMask from_first_key = [](const Rectangle& block, std::size_t q, std::size_t k) {
    return block.holds(q, k) && k - block.k_begin <= q - block.q_begin;
  };
  const BlockMask to_last_key = [](const Rectangle& block, std::size_t q, std::size_t k) {
    return block.holds(q, k) && k + block.q_end <= q + block.k_end;
  };
  const BlockMask also_future = [](const Rectangle&, std::size_t q, std::size_t k) {
    return k <= q;
  };
  std::vector<BlockedAttention> all = {attendingWithin(setting, blocks, from_first_key),
                                       attendingWithin(setting, blocks, to_last_key),
                                       attendingWithin(setting, blocks, also_future)};
  all.push_back(
      attending(setting, [&setting](const Seat* seat, std::size_t query, std::size_t key) {
        return seat && key <= setting.plan.localRow(*seat, query);
      }));
  all.back().how = "the mask of a rank's queries begins at the first of all keys";
  return all;
}

}  // namespace ringscope::traces
