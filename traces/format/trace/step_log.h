// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// What was logged of a training step. Of what is nullopt nothing was; a number that was none is
/// NaN.
struct LoggedStep {
  std::optional<double> loss;              ///< mean over targets
  std::optional<double> grad_norm;         ///< before clipping
  std::optional<double> clip_coefficient;  ///< what a rank's gradients were multiplied by
  std::optional<double> targets;
  std::optional<double> seconds;  ///< wall time, verification left out
  /// What the training step needed at most since the run began, of the rank that held most:
  /// verification and captured copies are left out. Empty where only the next was logged.
  std::optional<double> peak_bytes;
  std::optional<double> peak_bytes_with_verification;  ///< the same with both counted in
};

/// By training step. What a later note says of a step counts, and what is malformed is left out.
std::map<std::int32_t, LoggedStep> loggedSteps(const Trace& trace);

/// The training step that a note of this key logs, "step.N"; nullopt: it logs none.
std::optional<std::int32_t> loggedStepOf(std::string_view key);

}  // namespace ringscope::traces
