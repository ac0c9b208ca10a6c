// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/analysis/verify/recompute/restarted_positions.h"
#include "traces/analysis/verify/recompute/sequence_tokens.h"
#include "traces/plan/balance.h"

namespace ringscope::traces {

/// The evidence for one way in which labels may have been shifted or cut.
struct SecondShift {
  std::int64_t unlike = 0;  ///< labels that contradict it
  std::int64_t like = 0;    ///< labels that agree with it and are not the next token
  bool holds() const { return unlike == 0 && like > 0; }
  SecondShift& operator+=(const SecondShift& more);
};

/// The numbers of labels of a sequence that contradict the possible cases. An ignored label (below
/// 0) proves nothing by itself.
struct LabelCounts {
  std::int64_t labels = 0;                    ///< labels that are not ignored
  std::int64_t targets = 0, wrong = 0;        ///< targets: labels whose next token is known; wrong:
                                              ///< those that differ from it
  std::int64_t within = 0, wrong_within = 0;  ///< the same, for labels whose next token is on the
                                              ///< same rank
  std::int64_t unlike_local = 0;  ///< labels that are not the rank's next token, or its first at
                                  ///< the shard's end
  SecondShift of_sequence;        ///< shift before sharding: the token after the next
  SecondShift of_shard;           ///< shift after sharding: the label that the rank's next token
                                  ///< should have
  SecondShift within_shard;       ///< two shifts after sharding: the token after the rank's next
  SecondShift other_cut;          ///< labels of the tokens that `cut` deals, which the ranks do
                                  ///< not have
  Balance cut{};
  std::int64_t lost = 0;        ///< labels ignored at the end of a shard although both neighbours
                                ///< are not
  std::int64_t sure = 0;        ///< lost labels of documents or rows that are declared to go on
  std::int64_t undeclared = 0;  ///< labels that are lost unless a document ends there
  std::int64_t inner = 0, left_out = 0;  ///< inner: tokens before the shard's end; left_out: those
                                         ///< without a target
  std::int64_t between = 0, alone = 0;   ///< between: inner tokens whose neighbours have a target;
                                         ///< alone: those without a target of their own
  WorldRank first;                       ///< first rank with a wrong or lost label

  /// Reports whether the labels at the ends of shards may have been left out on purpose: the others
  /// are right, and some of the others are left out too.
  bool endsMayBeLeftOut() const { return wrong == 0 && left_out > 0; }

  LabelCounts& operator+=(const LabelCounts& more);
};

/// With fewer labels than this, an agreement may be a coincidence.
inline constexpr std::int64_t kFewTargets = 4;

/// Counts labels. `meant` is the declared intention of these sequences; null: nothing was declared.
/// A document may begin where positions begin again (`restarted`). The token before it has no
/// target.
LabelCounts countLabels(const SequenceTokens& tokens, const IntentRecord* meant,
                        const RestartedPositions& restarted);

}  // namespace ringscope::traces
