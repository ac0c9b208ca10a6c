// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "traces/format/schema/ids.h"
#include "traces/format/schema/records.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

// The properties of load balances. Code outside of `traces/plan` asks these functions and names no
// balance, so that a further balance is added here and in shard_layout.cpp alone.

/// Reports whether the balance deals each document by itself.
bool dealsDocuments(Balance balance);
/// Reports whether the balance deals tokens by where documents end.
bool needsDocuments(Balance balance);
/// Reports whether the balance evens out causal work, and has nothing to even out with a full mask.
bool evensCausalWork(Balance balance);
/// Reports whether the balance deals contiguous parts of the sequence, rank by rank.
bool dealsContiguousParts(Balance balance);
/// Returns the documents with the padding behind them, up to the next document or the end of the
/// sequence. A balance that needs documents deals these runs.
std::vector<TokenRun> documentSlots(std::vector<TokenRun> documents, std::int64_t length);
/// Returns the balance for causal attention over several ranks when none was asked for.
Balance defaultCausalBalance();
/// Returns the balance that deals each document by itself.
Balance documentBalance();
/// Returns what a length must be a multiple of for a balance: cp, or 2·cp.
std::int64_t lengthUnit(Balance balance, std::int32_t cp);

/// The tokens that one rank of a context-parallel group was seen to have.
struct DealtShard {
  GroupRank rank = GroupRank::of(0);
  std::vector<TokenRun> global_from_local;
};
/// Returns the balance by which all these shards of a sequence of `length` tokens were dealt to
/// `cp` ranks. Returns nullopt when no balance deals them so. Documents are not considered.
std::optional<Balance> findBalance(std::int64_t length, std::int32_t cp,
                                   const std::vector<DealtShard>& shards);

class ShardLayout;
/// Returns the layouts by which `cp` ranks can be dealt a sequence of this length: one per balance
/// that deals a sequence as a whole.
std::vector<ShardLayout> sequenceLayouts(std::int64_t length, std::int32_t cp);

}  // namespace ringscope::traces
