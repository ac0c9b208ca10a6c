// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/balance_choices.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

#include "traces/format/core/error.h"
#include "traces/format/core/floor_div.h"
#include "traces/format/schema/event.h"
#include "traces/format/schema/token_runs.h"
#include "traces/plan/balance.h"
#include "traces/plan/ring_order.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {
namespace {

bool dealsEachDocument(const BalanceChoice& choice) {
  return choice.balance && dealsDocuments(*choice.balance);
}

/// Returns what the length of a sequence, or of a document that is dealt by itself, must be a
/// multiple of.
std::int64_t unit(const BalanceChoice& choice, std::int32_t cp) {
  return choice.balance ? lengthUnit(*choice.balance, cp) : choice.block * cp;
}

void requireSizes(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                  std::int32_t cp) {
  if (cp < 1) throw usageError("cp must be at least 1, not " + std::to_string(cp));
  if (!choice.balance && choice.block < 1)
    throw usageError("a block of " + std::to_string(choice.block) +
                     " tokens cannot be dealt; use at least 1");
  if (lengths.empty()) throw usageError("there are no documents to deal; give at least 1 length");
  for (const std::int64_t length : lengths)
    if (length < 1)
      throw usageError("a document of " + std::to_string(length) +
                       " tokens cannot be dealt; use at least 1");
}

/// Returns the documents and the length of their sequence; no shards.
DealtDocuments pack(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                    std::int32_t cp) {
  DealtDocuments packed;
  for (const std::int64_t length : lengths) {
    packed.documents.push_back({packed.length, packed.length + length});
    packed.length += dealsEachDocument(choice) ? roundUp(length, unit(choice, cp)) : length;
  }
  packed.length = roundUp(packed.length, unit(choice, cp));
  return packed;
}

/// Returns the number of key blocks that each block of queries attends.
std::vector<std::int64_t> countKeyBlocks(const DealtDocuments& packed, std::int64_t block) {
  std::vector<std::int64_t> work;
  for (std::int64_t begin = 0; begin < packed.length; begin += block) {
    const TokenRun* document = runWith(packed.documents, TokenIndex::of(begin));
    work.push_back(document ? begin / block - document->begin / block + 1 : 0);
  }
  return work;
}

/// Returns the number of pairs that each block of queries attends.
std::vector<std::int64_t> countBlockPairs(const DealtDocuments& packed, std::int64_t block) {
  std::vector<std::int64_t> work(static_cast<std::size_t>(packed.length / block), 0);
  for (const TokenRun& document : packed.documents)
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

std::vector<std::vector<ShardRun>> dealBlocks(const BalanceChoice& choice,
                                              const DealtDocuments& packed, std::int32_t cp) {
  std::vector<std::vector<ShardRun>> shards(static_cast<std::size_t>(cp));
  const std::vector<std::size_t> owner =
      choice.dealing == BlockDealing::kRoundRobin
          ? dealRoundRobin(countKeyBlocks(packed, choice.block), shards.size())
          : dealGreatestFirst(countBlockPairs(packed, choice.block), shards.size());
  std::int64_t begin = 0;
  for (const std::size_t rank : owner) {
    shards[rank].push_back({begin, choice.block, 1});
    begin += choice.block;
  }
  return shards;
}

void add(DealtWork& sum, const DealtWork& work, std::int64_t times) {
  sum.length += times * work.length;
  sum.padding += times * work.padding;
  for (std::size_t rank = 0; rank < work.pairs.size(); ++rank)
    for (std::size_t source = 0; source < work.pairs.size(); ++source)
      sum.pairs[rank][source] += times * work.pairs[rank][source];
}

}  // namespace

std::vector<BalanceChoice> balanceChoices(std::int64_t ptrr_block, std::int64_t chunk) {
  std::vector<BalanceChoice> choices;
  for (std::size_t b = 0; b < kValueCount<Balance>; ++b) {
    const auto balance = static_cast<Balance>(b);
    choices.push_back({name(balance), balance});
  }
  choices.push_back({"ptrr", std::nullopt, BlockDealing::kRoundRobin, ptrr_block});
  choices.push_back({"chunks", std::nullopt, BlockDealing::kGreatestFirst, chunk});
  return choices;
}

DealtDocuments dealDocuments(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                             std::int32_t cp) {
  requireSizes(choice, lengths, cp);
  DealtDocuments dealt = pack(choice, lengths, cp);
  if (!choice.balance) {
    dealt.shards = dealBlocks(choice, dealt, cp);
    return dealt;
  }
  const ShardLayout layout(dealt.length, cp, *choice.balance,
                           documentSlots(dealt.documents, dealt.length));
  for (const GroupRank rank : everyRank(cp)) dealt.shards.push_back(layout.shard(rank));
  return dealt;
}

DealtWork dealtWork(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                    std::int32_t cp) {
  if (!dealsEachDocument(choice) || lengths.size() < 2) {
    const DealtDocuments dealt = dealDocuments(choice, lengths, cp);
    const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    return {dealt.length, dealt.length - tokens, attendedPairs(dealt.shards, dealt.documents)};
  }
  // Documents of equal length are dealt alike.
  std::map<std::int64_t, std::int64_t> count_by_length;
  for (const std::int64_t length : lengths) ++count_by_length[length];
  const auto ranks = static_cast<std::size_t>(cp);
  DealtWork sum{0, 0, PairTable(ranks, std::vector<std::int64_t>(ranks, 0))};
  for (const auto& [length, count] : count_by_length)
    add(sum, dealtWork(choice, {length}, cp), count);
  return sum;
}

PairShares pairShares(const PairTable& pairs) {
  PairShares shares;
  const int ranks = static_cast<int>(pairs.size());
  for (const std::vector<std::int64_t>& of_rank : pairs) {
    const std::int64_t sum = std::accumulate(of_rank.begin(), of_rank.end(), std::int64_t{0});
    shares.total += sum;
    shares.largest = std::max(shares.largest, sum);
  }
  const RingOrder order = RingOrder::of(ranks, Direction::kForward, Order::kDiagonalFirst);
  for (int step = 0; step < ranks; ++step) {
    std::int64_t largest = 0;
    for (const GroupRank rank : everyRank(ranks))
      largest = std::max(largest, pairs[rank.index()][order.source(rank, step).index()]);
    shares.largest_of_steps += largest;
  }
  return shares;
}

}  // namespace ringscope::traces
