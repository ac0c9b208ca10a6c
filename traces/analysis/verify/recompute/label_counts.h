// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/sequence_tokens.h"

namespace ringscope::traces {

/// One way in which labels may have been shifted by two tokens.
struct SecondShift {
  std::int64_t unlike = 0;  ///< labels that contradict it
  std::int64_t like = 0;    ///< that agree with it, and are not the next token
  bool holds() const { return unlike == 0 && like > 0; }
  SecondShift& operator+=(const SecondShift& more);
};

/// How many labels of a sequence contradict what they may be. One that is ignored (below 0) proves
/// nothing by itself.
struct LabelCounts {
  std::int64_t labels = 0;                    ///< that are not ignored
  std::int64_t targets = 0, wrong = 0;        ///< whose next token is known; that are another
  std::int64_t within = 0, wrong_within = 0;  ///< of those, whose next token is on the same rank
  std::int64_t unlike_local = 0;  ///< not the rank's next token, or a target at the shard's end
  SecondShift of_sequence;        ///< before sharding: the token after the next
  SecondShift of_shard;           ///< after it: what the rank's next token should have
  SecondShift within_shard;       ///< both times after it: the token after the rank's next
  std::int64_t lost = 0;          ///< ignored at the end of a shard, though both neighbours are not
  std::int64_t undeclared = 0;    ///< lost, if no document ends there
  std::int64_t inner = 0, left_out = 0;  ///< at which no shard ends; of those, without a target
  WorldRank first;                       ///< that has a wrong one, or lost one

  /// Those that are there are right, and others are left out too: so may those at the ends of
  /// shards be.
  bool endsMayBeLeftOut() const { return wrong == 0 && left_out > 0; }

  LabelCounts& operator+=(const LabelCounts& more);
};

/// With fewer labels to compare, a coincidence could be the reason.
inline constexpr std::int64_t kFewTargets = 4;

/// `meant`: what was declared of these sequences; null: nothing.
LabelCounts countLabels(const SequenceTokens& tokens, const IntentRecord* meant);

}  // namespace ringscope::traces
