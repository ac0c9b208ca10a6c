// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/balance_choices.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "traces/format/core/error.h"
#include "traces/format/core/floor_div.h"
#include "traces/format/schema/event.h"
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
  return choice.block > 0 ? choice.block * cp : lengthUnit(*choice.balance, cp);
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
    if (balance != Balance::kPtrr) choices.push_back({name(balance), balance});
  }
  const bool as_engine = ptrr_block == kPtrrBlock;
  choices.push_back({name(Balance::kPtrr), as_engine ? std::optional(Balance::kPtrr) : std::nullopt,
                     BlockDealing::kRoundRobin, ptrr_block});
  choices.push_back({"chunks", std::nullopt, BlockDealing::kGreatestFirst, chunk});
  return choices;
}

DealtDocuments dealDocuments(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                             std::int32_t cp) {
  requireSizes(choice, lengths, cp);
  DealtDocuments dealt = pack(choice, lengths, cp);
  if (choice.block > 0) {
    dealt.shards = dealBlocks(choice.dealing, dealt.length, dealt.documents, choice.block, cp);
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
