// SPDX-License-Identifier: Apache-2.0
#include "engine/sharding/shard_layout.h"

#include "traces/core/error.h"

namespace ringscope::engine {
namespace {

void requireDivisible(std::int64_t length, std::int64_t parts, const std::string& parts_text) {
  if (length > 0 && length % parts == 0) return;
  const std::int64_t below = length / parts * parts;
  std::string remedy = "use a multiple of " + std::to_string(parts) + ", such as ";
  if (below > 0) remedy += std::to_string(below) + " or ";
  throw usageError("a length of " + std::to_string(length) + " does not divide into " + parts_text +
                   "; " + remedy + std::to_string(below + parts));
}

}  // namespace

const char* name(Balance balance) {
  return balance == Balance::kNone ? "none" : "head_tail";
}

ShardLayout::ShardLayout(std::int64_t length, int cp_size, Balance balance)
    : length_(length), cp_size_(cp_size), balance_(balance) {
  if (cp_size < 1) throw usageError("cp must be at least 1, not " + std::to_string(cp_size));
  const std::string cp = std::to_string(cp_size);
  const std::int64_t chunks = balance == Balance::kNone ? cp_size : 2 * cp_size;
  requireDivisible(length, chunks,
                   balance == Balance::kNone
                       ? "cp = " + cp + " shards"
                       : "2·cp = " + std::to_string(chunks) + " chunks, which head_tail needs");
  const std::int64_t size = length / chunks;
  for (int rank = 0; rank < cp_size; ++rank) {
    auto chunk = [&](std::int64_t c) { return TokenRun{c * size, (c + 1) * size}; };
    if (balance == Balance::kNone)
      runs_.push_back({chunk(rank)});
    else
      runs_.push_back({chunk(rank), chunk(chunks - 1 - rank)});
  }
}

std::vector<std::int64_t> ShardLayout::globalFromLocal(int rank) const {
  std::vector<std::int64_t> indices;
  for (const TokenRun& run : runs(rank))
    for (std::int64_t g = run.begin; g < run.end; ++g) indices.push_back(g);
  return indices;
}

std::vector<std::int64_t> ShardLayout::rearrange() const {
  std::vector<std::int64_t> indices;
  for (int rank = 0; rank < cp_size_; ++rank) {
    const auto shard = globalFromLocal(rank);
    indices.insert(indices.end(), shard.begin(), shard.end());
  }
  return indices;
}

std::vector<std::int64_t> ShardLayout::restore() const {
  const auto order = rearrange();
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return inverse;
}

}  // namespace ringscope::engine
