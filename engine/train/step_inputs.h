// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/data/batch.h"
#include "engine/mistakes/foresight.h"

namespace ringscope::engine {

/// A training run whose batches are known, for comparing what ranks do with a mistake and without.
PlannedRun plannedTraining(const traces::RunSpec& run, std::shared_ptr<const BatchSource> batches);

}  // namespace ringscope::engine
