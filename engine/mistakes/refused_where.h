// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Refuses a run in which the mistake cannot be made, or would change nothing: `why` is asked about
/// runs that can be carried out, and answers nothing where the mistake has something to change.
inline void refuseWhere(Seams& seams, std::optional<std::string> (*why)(const traces::RunSpec&)) {
  seams.checks.refusal = [before = seams.checks.refusal, why](const traces::RunSpec& run) {
    const auto reason = before(run);
    return reason ? reason : why(run);
  };
}

}  // namespace ringscope::engine
