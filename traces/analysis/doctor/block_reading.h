// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/finding_words.h"
#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The relation of the KV blocks that ranks held to those of the ranks that they were taken for.
enum class BlocksAre {
  kUnknown,
  kOfTheirSource,
  kNeverRotated,   ///< a rank's first block, again at every ring step, in forward already
  kOldInBackward,  ///< the same in backward, and forward is right
  kOfOtherRanks,   ///< those of other ranks
  kReordered,      ///< their source's values in the order of its memory, read by other strides
};

/// By hashes; of the layer and direction that are wrong first.
struct BlockReading {
  BlocksAre are = BlocksAre::kUnknown;
  std::string missing;    ///< kUnknown: what would settle it
  bool recorded = false;  ///< no capture would keep more
  Place place;            ///< of the first wrong block
  WorldRank rank;         ///< who held it
  WorldRank source;       ///< whose it was taken for
  WorldRank held;         ///< whose it is; none: nobody's
  int wrong = 0, of = 0;  ///< blocks of other ranks, of that rank in that layer and direction
  bool certain = true;    ///< false: in what order values are was not recorded
};

/// Compares every recorded KV block with what its source rank recorded of its own.
BlockReading readBlocks(const Trace& trace);

/// Returns a rule's answer: a finding with these words when the blocks are `wrong`. The evidence
/// can name {rank}, {source}, {held}, {wrong} and {of}.
RuleResult answerFrom(const BlockReading& blocks, BlocksAre wrong, const FindingWords& words);

}  // namespace ringscope::traces
