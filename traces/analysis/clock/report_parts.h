// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "traces/analysis/clock/prediction.h"

namespace ringscope::traces {

// What answers for plans and for recordings share.

nlohmann::json toJson(const CommunicationSum& sum, int ranks);
nlohmann::json toJson(const CommunicationFigures& figures, int ranks);
nlohmann::json toJson(const Hardware& hardware);
nlohmann::json toJson(const StepLimits& limits);

/// "PCIe 4.0 ×16, 31.5 GB/s, 5.7 µs, full duplex, shared by a rank's messages".
std::string describe(const Link& link);
/// "each kernel takes at least 2.4 µs, each message and collective at least 8.4 µs".
std::string describe(const Floors& floors);
/// "60 %" of a peak, in three digits.
std::string describeEfficiency(double share);
/// A mean of ranks, as a duration.
std::string meanOf(std::int64_t ns, int ranks);
std::string describeNs(double ns);

}  // namespace ringscope::traces
