// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/training_run.h"
#include "traces/format/core/prose.h"

namespace ringscope::app {

/// Returns the largest value over all ranks, or 0 if there are no ranks.
inline std::int64_t largestPeak(const std::vector<std::int64_t>& bytes) {
  return bytes.empty() ? 0 : *std::ranges::max_element(bytes);
}

/// Describes the last column of the table of steps: the memory that it counts and leaves out.
inline std::string describePeaks(const engine::TrainOutcome& outcome) {
  if (outcome.steps.empty()) return "";
  return "peak memory: the most that the steps so far needed in one rank; with verification and "
         "captured copies " +
         traces::describeBytes(largestPeak(outcome.steps.back().peak_bytes_with_verification)) +
         "\n";
}

}  // namespace ringscope::app
