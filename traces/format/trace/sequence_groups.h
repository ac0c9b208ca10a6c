// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns the groups of ranks that share a sequence (cp groups), in the order of their ids. A
/// window offers them as a choice, and rules iterate over them. Members are in the order of their
/// group ranks. A trace without recorded groups has one group, of all its ranks.
/// Groups of some microbatches only are left out.
std::vector<std::vector<WorldRank>> sequenceGroups(const Trace& trace);

/// Returns the groups of ranks that share a sequence in a microbatch. These are the groups that
/// were recorded for this microbatch, or else those of all microbatches.
std::vector<std::vector<WorldRank>> sequenceGroups(const Trace& trace,
                                                   const StepMicrobatch& microbatch);

/// Returns all groups of ranks that share a sequence, in all or in some microbatches, each once.
std::vector<std::vector<WorldRank>> allSequenceGroups(const Trace& trace);

/// Returns the group of ranks with which a rank shares its sequence in a microbatch; null when it
/// is not recorded. That is the group of this microbatch, or else the one of all microbatches.
const GroupRecord* sequenceGroup(const Trace& trace, WorldRank rank,
                                 const StepMicrobatch& microbatch);

/// The groups with which ranks share sequences, for many questions about one trace. The trace must
/// outlive it and must not change.
class GroupsByMicrobatch {
 public:
  explicit GroupsByMicrobatch(const Trace& trace);
  /// Returns the group of a rank in a microbatch, as sequenceGroup() does. `microbatch` nullopt
  /// asks for the group of all microbatches.
  const GroupRecord* group(WorldRank rank, std::int32_t train_step,
                           std::optional<std::int32_t> microbatch) const;

 private:
  const Trace& trace_;
  std::map<std::pair<StepMicrobatch, WorldRank>, const GroupRecord*> groups_;
};

/// Returns the group of an event if at least two of its ranks share the sequence of the group `cp`;
/// otherwise null.
const GroupRecord* groupWithin(const Trace& trace, const Event& event, const GroupRecord& cp);

/// Returns the group of an event if at least two of its ranks share a sequence with the event's
/// rank in any microbatch of the training step; otherwise null.
const GroupRecord* groupWithinStep(const Trace& trace, const Event& event);

}  // namespace ringscope::traces
