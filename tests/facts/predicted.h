// SPDX-License-Identifier: Apache-2.0
// What the comparisons of predictions share.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/facts/plan_oracle.h"
#include "traces/clock/report.h"

namespace ringscope::facts {

traces::Hardware drawHardware(std::mt19937& random);
/// A run as an oracle takes it.
Plan planOf(const traces::RunSpec& run, const traces::ModelSizes& sizes);
/// The time of a step in which nothing counts but attention is the plan's.
void expectWork(traces::RunSpec run, const traces::ModelSizes& sizes);
/// From which length on a ring is said to hide its hops.
void expectHides(const nlohmann::json& sweep, const std::string& text);

}  // namespace ringscope::facts
