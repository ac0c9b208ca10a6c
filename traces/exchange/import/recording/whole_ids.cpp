// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/whole_ids.h"

#include <algorithm>

#include "traces/plan/balance.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kFewestFollowing = 8;  // targets

/// Reports whether each target is the id that follows, if the ranks have their tokens in a layout.
bool followIn(const ShardLayout& layout, const std::vector<WholeIds>& ranks) {
  std::int64_t compared = 0;
  for (std::size_t seat = 0; seat < ranks.size(); ++seat) {
    const WholeIds& own = ranks[seat];
    const auto tokens = layout.globalFromLocal(GroupRank::of(static_cast<std::int32_t>(seat)));
    const std::size_t width = tokens.size(), length = static_cast<std::size_t>(layout.length());
    for (std::size_t at = 0; at < own.targets->size(); ++at) {
      const auto next = static_cast<std::size_t>(tokens[at % width].value() + 1);
      if (next >= length || (*own.targets)[at] == own.ignored) continue;
      if ((*own.targets)[at] != (*own.ids)[at / width * length + next]) return false;
      ++compared;
    }
  }
  return compared >= kFewestFollowing;
}

}  // namespace

std::vector<std::vector<std::int64_t>> tokensByRank(const ShardLayout& layout) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::int32_t seat = 0; seat < layout.cpSize(); ++seat) {
    auto& tokens = all.emplace_back();
    for (const TokenIndex token : layout.globalFromLocal(GroupRank::of(seat)))
      tokens.push_back(token.value());
  }
  return all;
}

std::vector<std::vector<std::int64_t>> tokensOfWholeIds(const std::vector<WholeIds>& ranks) {
  if (ranks.size() < 2 || ranks.front().rows < 1) return {};
  const auto size = static_cast<std::int64_t>(ranks.size()), all = std::ssize(*ranks.front().ids),
             length = all / ranks.front().rows;
  for (const WholeIds& own : ranks)
    if (own.rows != ranks.front().rows || *own.ids != *ranks.front().ids ||
        std::ssize(*own.targets) * size != all)
      return {};
  std::vector<std::vector<std::int64_t>> found;
  for (const ShardLayout& layout : sequenceLayouts(length, static_cast<std::int32_t>(size))) {
    if (!followIn(layout, ranks)) continue;
    if (!found.empty()) return {};
    found = tokensByRank(layout);
  }
  return found;
}

}  // namespace ringscope::traces
