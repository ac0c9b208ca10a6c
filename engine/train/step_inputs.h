// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/data/batch.h"
#include "engine/mistakes/foresight.h"

namespace ringscope::engine {

/// Returns a training run whose batches are known, for comparing ranks with and without a mistake.
PlannedRun plannedTraining(const traces::RunSpec& run, std::shared_ptr<const BatchSource> batches);

}  // namespace ringscope::engine
