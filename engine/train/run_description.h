// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "engine/train/rank_trainer.h"

namespace ringscope::engine {

/// The run's public configuration, kept in the trace under "run". Nothing here may tell what was
/// injected.
nlohmann::json describeRun(const TrainSetup& setup);

/// The ring schedule of every cp rank, kept in the trace under "schedule": for each ring step whose
/// block is attended, and its pieces as rows of q and k.
nlohmann::json describeSchedule(const TrainSetup& setup);

}  // namespace ringscope::engine
