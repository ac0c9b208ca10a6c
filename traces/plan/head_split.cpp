// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/head_split.h"

#include <algorithm>

namespace ringscope::traces {
namespace {

/// Returns the KV head of each of a rank's query heads.
std::vector<std::int64_t> headOfEach(std::int64_t first_query, std::int64_t query_heads,
                                     std::int64_t group) {
  std::vector<std::int64_t> each;
  for (std::int64_t h = first_query; h < first_query + query_heads; ++h) each.push_back(h / group);
  return each;
}

std::vector<std::int64_t> distinctHeads(std::int64_t first_query, std::int64_t query_heads,
                                        std::int64_t group) {
  auto each = headOfEach(first_query, query_heads, group);
  each.erase(std::unique(each.begin(), each.end()), each.end());
  return each;
}

}  // namespace

HeadSplit HeadSplit::of(std::int64_t query_heads, std::int64_t kv_heads, int ranks) {
  HeadSplit split;
  split.query_heads = query_heads / ranks;
  const std::int64_t group = query_heads / kv_heads;
  for (int r = 0; r < ranks; ++r)
    split.kv_heads.push_back(distinctHeads(r * split.query_heads, split.query_heads, group));
  // Messages have one shape. When ranks need unequal groups, each query head gets its own copy.
  const bool equal = split.query_heads % group == 0 || group % split.query_heads == 0;
  for (int r = 0; r < ranks && !equal; ++r)
    split.kv_heads[static_cast<std::size_t>(r)] =
        headOfEach(r * split.query_heads, split.query_heads, group);
  return split;
}

}  // namespace ringscope::traces
