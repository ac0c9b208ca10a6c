// SPDX-License-Identifier: Apache-2.0
#include "engine/mistakes/seams.h"

namespace ringscope::engine {

/// Validation does not look at the mask, so head-tail shards of full attention go on.
void injectBalanceWithoutCausal(Seams& seams) {
  seams.checks.refusal = [before = seams.checks.refusal](const traces::RunSpec& run) {
    traces::RunSpec looked_at = run;
    if (run.mask == traces::MaskKind::kFull) looked_at.mask = traces::MaskKind::kCausal;
    return before(looked_at);
  };
}

}  // namespace ringscope::engine
