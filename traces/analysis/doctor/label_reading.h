// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// The relation of the labels of a run to its tokens. An ignored label (below 0) proves nothing by
/// itself.
enum class LabelsAre {
  kNextTokens,
  kShiftedPerShard,  ///< the next token that the rank holds; the last that it holds has none
  kPerhapsPerShard,  ///< the next token; ends of shards have none, and neither have others
  kShiftedTwice,     ///< the token after the next
  kTwicePerShard,    ///< the token after the next of those that the rank holds
  kCutOtherwise,     ///< the next token of those that another balance gives the rank
  kOfOtherBatches,   ///< the next token, save where another rank of the group holds that
  kUnknown
};

/// The first training step and cp group whose labels are wrong; all of them when none are wrong.
struct LabelReading {
  LabelsAre are = LabelsAre::kUnknown;
  Balance cut{};          ///< kCutOtherwise: the balance
  std::string missing;    ///< kUnknown and kPerhapsPerShard: what would settle it
  bool recorded = false;  ///< there are labels, so no other capture would settle it
  bool certain = true;    ///< nothing else explains it
  double chance = 0;      ///< kPerhapsPerShard: that labels are so by chance
  Place place;
  WorldRank rank;            ///< the first that has a wrong one, or lost one
  std::int64_t targets = 0;  ///< labels that could be compared
  std::int64_t wrong = 0;    ///< of those, not the next token
  std::int64_t lost = 0;     ///< ignored at the end of a shard, though both neighbours are not
};

LabelReading readLabels(const Trace& trace);
/// Returns the answer of a rule when the labels do not tell.
RuleResult unknownLabels(const LabelReading& labels);

}  // namespace ringscope::traces
