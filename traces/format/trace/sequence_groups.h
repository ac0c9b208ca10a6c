// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Returns the group of an event if at least two of its ranks share the sequence of the group `cp`;
/// otherwise null.
const GroupRecord* groupWithin(const Trace& trace, const Event& event, const GroupRecord& cp);

}  // namespace ringscope::traces
