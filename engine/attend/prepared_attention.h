// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/attend/attend.h"
#include "engine/data/padding.h"

namespace ringscope::engine {

/// The run as it is carried out, over a sequence that is as long as the balance needs.
struct PreparedAttention {
  traces::RunSpec run;
  Padding padding;  ///< as seams leave it
  Mask declared;
};

/// Throws usageError where the run cannot work.
PreparedAttention prepareAttention(const AttendInput& input, const AttendConfig& config);

}  // namespace ringscope::engine
