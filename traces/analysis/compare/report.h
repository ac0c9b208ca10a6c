// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/analysis/compare/run_comparison.h"

namespace ringscope::traces {

/// Returns "step 0 › layer 1 › forward, out".
std::string describe(const TensorDifference& difference);
/// Returns "sequence 0, head 2, token 17, rank 1 against rank 0"; empty when none of these is
/// known.
std::string describeWhere(const TensorDifference& difference);

/// Returns "differs by 3.1e-07 of its size (equal runs by 2.0e-07) in 12 of 64 rows".
std::string describeSize(const TensorDifference& difference);
/// Returns "12 of 64 rows, most at sequence 0, head 2, …"; empty when nothing differs.
std::string describeExtent(const TensorDifference& difference);
/// Returns the full description after "= ", "≈ " (within rounding), "? " (not judged) or "≠ ": "≠
/// step 0 › layer 1 › forward, out differs by … in 12 of 64 rows, most at …".
std::string describeFully(const TensorDifference& difference);
/// Reports whether a tensor holds token ids, labels or positions, which are equal or not and have
/// no distance.
bool areNames(const TensorDifference& difference);
/// Returns the first run's cost ÷ the other's as "0.57×"; empty when they are equal or a ratio has
/// no meaning.
std::string describeRatio(const CostPair& pair, Cost cost);
/// Returns "sent by ranks: 2.5 MiB against 772 KiB (3.32×)"; empty when one of the runs has not
/// recorded the cost.
std::string describe(const CostPair& pair, Cost cost);
/// Returns the conclusion as sentences: "✓ All …", "✓ Equal within rounding: …", or "≠ 3 of 40
/// comparisons differ by more than rounding explains. First: …". A conclusion that begins with "–"
/// says that the difference cannot be judged, and what would help.
std::vector<std::string> concludeFrom(const RunComparison& comparison);
/// Describes the settings that differ, or says in one line that none does.
std::vector<std::string> describeSettings(const RunComparison& comparison);

/// Returns the whole report: the settings that differ, the costs of the last training step in both
/// runs, and one line per tensor at its worst training step. The first difference, the steepest
/// growth of differences and what was left out follow.
std::string toText(const RunComparison& comparison);
nlohmann::json toJson(const RunComparison& comparison);

}  // namespace ringscope::traces
