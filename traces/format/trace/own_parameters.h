// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Parameters of one name that ranks of a recorded PyTorch job do not hold as replicas: experts,
/// parts of a vocabulary, stages of a pipeline. Their contents differ before the first step.
struct OwnParameters {
  std::set<std::string> names;  ///< that differ between ranks of one cp group
  bool unlike_groups = false;   ///< whole cp groups hold other parameters than each other
};

OwnParameters ownParameters(const Trace& trace);

inline constexpr const char* kOwnParametersNote = "own_parameters";
nlohmann::json toJson(const OwnParameters& own);

}  // namespace ringscope::traces
