// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "traces/analysis/doctor/rule.h"

namespace ringscope::traces {

/// Returns a finding of dropped_hop without a rule's id.
Finding droppedHopFinding(const Place& place, WorldRank rank, const char* title,
                          std::string evidence);

/// A message of a block or of its gradients with one end only.
struct UnpairedMessage {
  std::optional<Finding> finding;
  std::string open;  ///< why nothing can be said about some messages; empty: there are none
};
UnpairedMessage findUnpaired(const Trace& trace);

}  // namespace ringscope::traces
