// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// The ranks that share a sequence: those among which a ring runs.
struct Group {
  std::string name;              ///< "ranks 0–3"
  std::vector<WorldRank> ranks;  ///< as the trace numbers them, in the order of the ring

  friend bool operator==(const Group&, const Group&) = default;
};

/// All groups of a recording; none before its first event.
std::vector<Group> listGroups(const traces::Trace& trace);

/// The ranks of one of them; empty when there is no such group.
std::vector<WorldRank> groupRanks(const traces::Trace& trace, int group);

/// The number of the group that a rank is in; `otherwise` where it is in none.
int groupWith(const traces::Trace& trace, WorldRank rank, int otherwise);

/// Reports whether a group has events of every rank. While a run begins, no group has them.
bool hasWholeGroup(const traces::Trace& trace);

}  // namespace ringscope::viz
