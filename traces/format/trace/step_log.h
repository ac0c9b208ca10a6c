// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The log of a training step. A field is nullopt when the recording does not contain it. JSON's
/// null becomes NaN.
struct LoggedStep {
  std::optional<double> loss;              ///< mean over targets
  std::optional<double> validation_loss;   ///< mean over targets
  std::optional<double> grad_norm;         ///< before clipping
  std::optional<double> clip_coefficient;  ///< factor that a rank's gradients were multiplied by
  std::optional<double> targets;
  std::optional<double> seconds;  ///< wall time without verification
  /// The largest number of bytes that the training step needed since the run began, on the rank
  /// with the most. Excludes verification and captured copies. nullopt when only
  /// peak_bytes_with_verification was logged.
  std::optional<double> peak_bytes;
  std::optional<double> peak_bytes_with_verification;  ///< the same with verification and captured
                                                       ///< copies
};

/// Returns the log by training step. A later note of a step overrides an earlier one, and malformed
/// values are left out.
std::map<std::int32_t, LoggedStep> loggedSteps(const Trace& trace);

/// Returns the training step N of a note's key "step.N"; nullopt for any other key.
std::optional<std::int32_t> parseLoggedStep(std::string_view key);

}  // namespace ringscope::traces
