// SPDX-License-Identifier: Apache-2.0
#include "traces/plan/balance.h"

#include <algorithm>

#include "traces/format/schema/token_runs.h"
#include "traces/plan/shard_layout.h"

namespace ringscope::traces {

bool dealsDocuments(Balance balance) {
  return balance == Balance::kPerDocument;
}

bool needsDocuments(Balance balance) {
  return dealsDocuments(balance) || balance == Balance::kPtrr;
}

bool evensCausalWork(Balance balance) {
  return balance == Balance::kHeadTail || balance == Balance::kStriped;
}

bool dealsContiguousParts(Balance balance) {
  return balance == Balance::kNone;
}

std::vector<TokenRun> documentSlots(std::vector<TokenRun> documents, std::int64_t length) {
  for (std::size_t d = 0; d < documents.size(); ++d)
    documents[d].end = d + 1 < documents.size() ? documents[d + 1].begin : length;
  return documents;
}

Balance defaultCausalBalance() {
  return Balance::kHeadTail;
}

Balance documentBalance() {
  return Balance::kPerDocument;
}

std::int64_t lengthUnit(Balance balance, std::int32_t cp) {
  const bool halves = balance == Balance::kHeadTail || balance == Balance::kPerDocument;
  return halves ? 2 * std::int64_t{cp} : cp;
}

std::optional<Balance> findBalance(std::int64_t length, std::int32_t cp,
                                   const std::vector<DealtShard>& shards) {
  for (const ShardLayout& layout : sequenceLayouts(length, cp))
    if (std::ranges::all_of(shards, [&](const DealtShard& shard) {
          return shard.rank.value() < cp &&
                 joinedInOrder(shard.global_from_local) == joinedInOrder(layout.runs(shard.rank));
        }))
      return layout.balance();
  return std::nullopt;
}

std::vector<ShardLayout> sequenceLayouts(std::int64_t length, std::int32_t cp) {
  std::vector<ShardLayout> layouts;
  if (cp < 1 || length < cp) return layouts;
  for (std::size_t b = 0; b < kValueCount<Balance>; ++b) {
    const auto balance = static_cast<Balance>(b);
    if (!needsDocuments(balance) && length % lengthUnit(balance, cp) == 0)
      layouts.emplace_back(length, cp, balance);
  }
  return layouts;
}

}  // namespace ringscope::traces
