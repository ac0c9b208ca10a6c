// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/compare/run_comparison.h"

namespace ringscope::traces {

/// "step 0 › layer 1 › forward, out"
std::string describe(const TensorDifference& difference);
/// "sequence 0, head 2, token 17, rank 1 against rank 0"; empty where nothing is known of it.
std::string describeWhere(const TensorDifference& difference);

/// "differs by 3.1e-07 of its size (equal runs by 2.0e-07) in 12 of 64 rows".
std::string describeSize(const TensorDifference& difference);
/// "12 of 64 rows, most at sequence 0, head 2, …"; empty where nothing differs.
std::string describeExtent(const TensorDifference& difference);
/// All of it after "= ", "≈ " (within rounding), "? " (not judged) or "≠ ": "≠ step 0 › layer 1 ›
/// forward, out differs by … in 12 of 64 rows, most at …".
std::string describeFully(const TensorDifference& difference);
/// Token ids, labels and positions: they are the same or not, and have no size.
bool areNames(const TensorDifference& difference);
/// "0.57×": the first run's ÷ the other's; empty where they are equal, or a ratio says nothing.
std::string describeRatio(const CostPair& pair, Cost cost);
/// "sent by ranks: 2.5 MiB against 772 KiB (3.32×)"; empty where one of both has not recorded it.
std::string describe(const CostPair& pair, Cost cost);
/// Sentences: "✓ All …", "✓ Equal within rounding: …", "≠ 3 of 40 comparisons differ by more than
/// rounding explains. First: …", or with "–" that it cannot be judged, and what would tell.
std::vector<std::string> conclusionOf(const RunComparison& comparison);
/// The settings that differ; where there is none, one line that says so.
std::vector<std::string> describeSettings(const RunComparison& comparison);

/// What differs of the settings, what the last training step took of both, a line for each tensor
/// at its worst training step, the first that differs, where differences grow most, and what was
/// left out.
std::string toText(const RunComparison& comparison);
nlohmann::json toJson(const RunComparison& comparison);

}  // namespace ringscope::traces
