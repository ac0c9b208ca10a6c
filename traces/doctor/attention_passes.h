// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/query/trace.h"
#include "traces/schema/band.h"

namespace ringscope::traces {

/// What was recorded of one layer's attention in one direction, over the ranks of a group. Pointers
/// are into the trace.
struct AttentionPass {
  Place place;  ///< without a ring step
  std::int32_t microbatch = 0;
  /// By the group's rank: pieces attended, in the order of time; messages of KV, dK and dV, in that
  /// of recording.
  std::vector<std::vector<const Event*>> attended, messages;
  /// Nothing that these ranks did in it is missing.
  bool complete = false;
};

/// Those of which an event was recorded, in the order of visiting. `members`: the ranks that share
/// a sequence. Decodes all of their events.
std::vector<AttentionPass> attentionPasses(const Trace& trace,
                                           const std::vector<WorldRank>& members);

/// What a piece attends, by local rows; nothing where it is a tile mask that no schedule names.
std::optional<Band> attendedBand(const Trace& trace, const Event& piece);

/// The same; and of a tile mask that no schedule names but as part of another, that part of it.
std::optional<Band> likelyBand(const Trace& trace, const Event& piece);

/// Why it is not known that all events of a run are there, as what would settle it; empty where it
/// is. Decodes all events.
std::string missingEvents(const Trace& trace);

}  // namespace ringscope::traces
