// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/block_dealing.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "traces/format/schema/token_runs.h"

namespace ringscope::traces {
namespace {

/// Returns the number of key blocks that each block of queries attends.
std::vector<std::int64_t> countKeyBlocks(std::int64_t length,
                                         const std::vector<TokenRun>& documents,
                                         std::int64_t block) {
  std::vector<std::int64_t> work;
  for (std::int64_t begin = 0; begin < length; begin += block) {
    const TokenRun* document = runWith(documents, TokenIndex::of(begin));
    work.push_back(document ? begin / block - document->begin / block + 1 : 0);
  }
  return work;
}

/// Returns the number of pairs that each block of queries attends.
std::vector<std::int64_t> countBlockPairs(std::int64_t length,
                                          const std::vector<TokenRun>& documents,
                                          std::int64_t block) {
  std::vector<std::int64_t> work(static_cast<std::size_t>(length / block), 0);
  for (const TokenRun& document : documents)
    for (std::int64_t at = document.begin; at < document.end;) {
      const std::int64_t end = std::min(document.end, (at / block + 1) * block);
      const std::int64_t first = at - document.begin, last = end - document.begin;
      work[static_cast<std::size_t>(at / block)] += (last * (last + 1) - first * (first + 1)) / 2;
      at = end;
    }
  return work;
}

std::vector<std::size_t> sortByWork(const std::vector<std::int64_t>& work) {
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t block) { return work[block]; });
  return order;
}

/// Returns the rank of each block. The number of blocks is a multiple of `ranks`.
std::vector<std::size_t> dealRoundRobin(const std::vector<std::int64_t>& work, std::size_t ranks) {
  std::vector<std::size_t> owner(work.size());
  const std::vector<std::size_t> order = sortByWork(work);
  for (std::size_t i = 0; i < order.size(); ++i)
    owner[order[i]] = i / ranks % 2 == 0 ? i % ranks : ranks - 1 - i % ranks;
  return owner;
}
std::vector<std::size_t> dealGreatestFirst(const std::vector<std::int64_t>& work,
                                           std::size_t ranks) {
  std::vector<std::size_t> owner(work.size()), blocks(ranks, 0);
  using Load = std::pair<std::int64_t, std::size_t>;  // work so far, rank
  std::priority_queue<Load, std::vector<Load>, std::greater<>> with_room;
  for (std::size_t rank = 0; rank < ranks; ++rank) with_room.emplace(0, rank);
  for (const std::size_t block : sortByWork(work)) {
    const auto [load, rank] = with_room.top();
    with_room.pop();
    owner[block] = rank;
    if (++blocks[rank] < work.size() / ranks) with_room.emplace(load + work[block], rank);
  }
  return owner;
}

}  // namespace

std::int64_t ptrrBlock(std::int64_t length, std::int32_t cp) {
  std::int64_t block = kPtrrBlock;
  while (block > 1 && length % (block * cp) != 0) block /= 2;
  return block;
}

std::vector<std::vector<ShardRun>> dealBlocks(BlockDealing dealing, std::int64_t length,
                                              const std::vector<TokenRun>& documents,
                                              std::int64_t block, std::int32_t cp) {
  std::vector<std::vector<ShardRun>> shards(static_cast<std::size_t>(cp));
  const std::vector<std::size_t> owner =
      dealing == BlockDealing::kRoundRobin
          ? dealRoundRobin(countKeyBlocks(length, documents, block), shards.size())
          : dealGreatestFirst(countBlockPairs(length, documents, block), shards.size());
  std::int64_t begin = 0;
  for (const std::size_t rank : owner) {
    shards[rank].push_back({begin, block, 1});
    begin += block;
  }
  return shards;
}

}  // namespace ringscope::traces
