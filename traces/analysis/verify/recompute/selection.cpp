// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/selection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Returns `count` of the numbers 0 … all − 1, evenly spread.
std::vector<std::size_t> spread(std::size_t count, std::size_t all) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back((2 * i + 1) * all / (2 * count));
  return chosen;
}

/// Returns how many of `all` a share of the work allows.
std::size_t affordable(double share, std::size_t all) {
  return share >= 1 ? all
                    : static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(all));
}

}  // namespace

Selection selectRows(const LayerTensors& layer, const AttentionMask& mask, bool backward,
                     double work, std::vector<std::string>& skipped) {
  const double group_work =
      static_cast<double>(layer.groupSize()) *
      attentionWork(layer.tokens, layer.tokens, mask, layer.head_dim, backward);
  const auto all = static_cast<std::size_t>(layer.batch * layer.kv_heads);
  const double share = group_work > 0 ? work / (group_work * static_cast<double>(all)) : 1;
  const std::size_t groups = affordable(share, all);
  Selection selection;
  for (const std::size_t g : spread(std::max<std::size_t>(1, groups), all))
    selection.groups.push_back({static_cast<std::int64_t>(g) / layer.kv_heads,
                                static_cast<std::int64_t>(g) % layer.kv_heads});
  const std::size_t rows =
      groups > 0 ? layer.tokens.size()
                 : std::max<std::size_t>(1, affordable(work / group_work, layer.tokens.size()));
  selection.rows = spread(rows, layer.tokens.size());
  const auto count = [](std::size_t n) { return describeCount(static_cast<std::int64_t>(n)); };
  if (selection.groups.size() < all)
    skipped.push_back("of " + count(all) + " KV heads " + count(selection.groups.size()) +
                      " and the query heads that share them were computed: all take more work "
                      "than was allowed");
  if (rows < layer.tokens.size())
    skipped.push_back("of " + count(layer.tokens.size()) + " query rows " + count(rows) +
                      " were computed, and dk and dv, which are sums over all of them, were not: "
                      "one head takes more work than was allowed");
  return selection;
}

}  // namespace ringscope::traces
