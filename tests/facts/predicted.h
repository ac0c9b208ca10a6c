// SPDX-License-Identifier: Apache-2.0
// Helpers that the comparisons of predictions share.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/facts/plan_oracle.h"
#include "traces/analysis/clock/report.h"

namespace ringscope::facts {

traces::Hardware drawHardware(std::mt19937& random);
/// A run as an oracle takes it.
Plan planFor(const traces::RunSpec& run, const traces::ModelSizes& sizes);
/// Checks the sentence about the limits of a step that takes `step_ns`: "Launch-bound: kernels at
/// their floor take
/// 81 % of the critical path, the link 19 %."
void expectLimits(const std::string& says, const nlohmann::json& limits, double step_ns);
/// Steps within 5 % of the shortest, or printed like it, cannot be told apart.
void expectQuickest(const nlohmann::json& strategies, const std::string& text);
/// The time of a step in which nothing counts but attention is the plan's.
void expectWork(traces::RunSpec run, const traces::ModelSizes& sizes);
/// From which length on a ring is said to hide its hops.
void expectHides(const nlohmann::json& sweep, const std::string& text);

}  // namespace ringscope::facts
