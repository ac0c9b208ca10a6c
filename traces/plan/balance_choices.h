// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/run_spec.h"
#include "traces/plan/attended_pairs.h"
#include "traces/plan/block_dealing.h"

namespace ringscope::traces {

/// One way of dealing packed documents to the ranks of a cp group: a balance of the engine, or
/// blocks that other libraries deal by their work.
struct BalanceChoice {
  std::string title;               ///< the balance's name, "ptrr" or "chunks"
  std::optional<Balance> balance;  ///< the engine's balance that deals so; nullopt: none
  BlockDealing dealing = BlockDealing::kRoundRobin;
  std::int64_t block = 0;  ///< tokens per block that `dealing` deals; 0: `balance` deals
};

/// Returns all balances of the engine in the order of their names, the last of which is ptrr with
/// blocks of `ptrr_block` tokens, then chunks of `chunk` tokens. The engine's own ptrr has blocks
/// of kPtrrBlock tokens.
std::vector<BalanceChoice> balanceChoices(std::int64_t ptrr_block, std::int64_t chunk);

/// Documents of one sequence, dealt to ranks.
struct DealtDocuments {
  std::int64_t length = 0;                    ///< of the sequence, with padding
  std::vector<TokenRun> documents;            ///< without padding
  std::vector<std::vector<ShardRun>> shards;  ///< by rank, in local order
};
/// Deals documents of these lengths, packed in this order. Documents that are dealt one by one are
/// padded one by one; every other choice pads the end of the sequence. Padding attends nothing.
/// Throws usageError for a length, block or cp below 1.
DealtDocuments dealDocuments(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                             std::int32_t cp);

/// The tokens and attended pairs of one sequence whose documents are dealt to ranks.
struct DealtWork {
  std::int64_t length = 0;   ///< with padding
  std::int64_t padding = 0;  ///< padding tokens
  PairTable pairs;
};
/// Returns the work of dealDocuments() without its shards, which for many short documents that are
/// dealt one by one would take more memory than the tokens.
DealtWork dealtWork(const BalanceChoice& choice, const std::vector<std::int64_t>& lengths,
                    std::int32_t cp);

/// How evenly the pairs of a sequence are shared.
struct PairShares {
  std::int64_t total = 0;    ///< attended pairs of all ranks
  std::int64_t largest = 0;  ///< of the rank that attends most
  /// The pairs of the rank that attends most in a ring step, summed over the ring steps. A ring
  /// whose ranks wait for each other at each step takes as long as this many pairs.
  std::int64_t largest_of_steps = 0;
};
PairShares pairShares(const PairTable& pairs);

}  // namespace ringscope::traces
