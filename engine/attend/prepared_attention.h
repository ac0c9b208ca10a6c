// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attend/attend.h"
#include "engine/data/padding.h"

namespace ringscope::engine {

/// A run that can be carried out, over a sequence padded to the length that the balance needs.
struct PreparedAttention {
  traces::RunSpec run;
  Padding padding;  ///< after seams have changed it
  Mask declared;
};

/// Checks the run and pads its sequence. Throws usageError if the run cannot work.
PreparedAttention prepareAttention(const AttendInput& input, const AttendConfig& config);

}  // namespace ringscope::engine
