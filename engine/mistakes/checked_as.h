// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/mistakes/seams.h"
#include "traces/analysis/mistakes/needs/needs.h"

namespace ringscope::engine {

/// Makes validation ask about another run, such as one whose heads divide, so that a check is
/// missing.
inline void checkAs(Seams& seams, traces::RunSpec (*other)(const traces::RunSpec& run)) {
  seams.checks.refusal = [before = seams.checks.refusal, other](const traces::RunSpec& run) {
    return before(other(run));
  };
}

}  // namespace ringscope::engine
