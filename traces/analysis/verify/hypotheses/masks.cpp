// SPDX-License-Identifier: Apache-2.0
// Mistakes in who attends whom.
#include "traces/analysis/verify/hypotheses/made.h"

namespace ringscope::traces {
namespace {

/// Every query attends the keys that a condition allows it, in one block. The condition is told who
/// attends the query; null: nobody.
template <typename Allowed>
BlockedAttention attending(const HypothesisSetting& setting, Allowed allowed) {
  const auto keys = [&setting, allowed](const BlockRow& row) {
    const std::size_t query = setting.tokenFor(row);
    const PlannedBlocks::Seat* seat = setting.plan.findSeat(setting.headFor(row), query);
    KeyBlock block;
    for (std::size_t key = 0; key < setting.layer.tokens.size(); ++key)
      if (allowed(seat, query, key)) block.keys.push_back({key, key});
    return KeyBlocks{std::move(block)};
  };
  return {keys, keys};
}

BlockedAttention under(const HypothesisSetting& setting, const AttentionMask& mask) {
  return attending(
      setting, [&setting, mask](const PlannedBlocks::Seat*, std::size_t query, std::size_t key) {
        return setting.allows(mask, query, key);
      });
}

}  // namespace

std::optional<BlockedAttention> withoutWindow(const HypothesisSetting& setting) {
  if (setting.mask.window == 0) return std::nullopt;
  AttentionMask mask = setting.mask;
  mask.window = 0;
  return under(setting, mask);
}

std::optional<BlockedAttention> acrossDocuments(const HypothesisSetting& setting) {
  if (!setting.mask.by_document) return std::nullopt;
  AttentionMask mask = setting.mask;
  mask.by_document = false;
  mask.documents.clear();
  return under(setting, mask);
}

std::optional<BlockedAttention> futureBlocks(const HypothesisSetting& setting) {
  if (!setting.mask.causal) return std::nullopt;
  return attending(setting, [&setting](const PlannedBlocks::Seat* seat, std::size_t query,
                                       std::size_t key) {
    return (seat && !setting.plan.holds(*seat, key)) || setting.allows(setting.mask, query, key);
  });
}

std::optional<BlockedAttention> ownBlocks(const HypothesisSetting& setting) {
  return attending(
      setting, [&setting](const PlannedBlocks::Seat* seat, std::size_t query, std::size_t key) {
        return seat && setting.plan.holds(*seat, key) && setting.allows(setting.mask, query, key);
      });
}

}  // namespace ringscope::traces
