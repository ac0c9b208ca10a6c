// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "viz/scene/data.h"

namespace ringscope::viz {

/// The numbers of one training step by which two runs are compared side by side.
struct RunSummary {
  int train_step = 0;
  std::optional<double> worst_ratio;  ///< error ÷ limit; nothing: not compared
  std::string worst_where;
  std::int64_t attend_ns = 0, wait_ns = 0;  ///< of all ranks, pauses left out
  std::int64_t sent_bytes = 0;
  /// Mean over largest work of a rank in forward, 0 to 1, as it was scheduled; nothing: not
  /// recorded.
  std::optional<double> balance;
};

/// Summarizes one training step.
RunSummary runSummary(const traces::Trace& trace, int train_step);

/// Returns "step 3: ✓ worst 0.9× limit (layer 1, dk) · attends 1.2 ms, waits 0.4 ms · sends 96 KiB
/// · balance 94 %".
std::string describe(const RunSummary& summary);

}  // namespace ringscope::viz
