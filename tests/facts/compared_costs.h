// SPDX-License-Identifier: Apache-2.0
// Checks what the comparison of two recordings says about everything except their tensors.
#pragma once

#include "tests/facts/facts_case.h"
#include "traces/analysis/compare/run_comparison.h"
#include "viz/views/compare/compare_scene.h"

namespace ringscope::facts {

/// Sizes of the mesh, strategy and mask that differ, and no others of them.
void expectSettings(const Case& run, const Case& other, const traces::RunComparison& comparison);
/// Pairs, balance and sent bytes are the plan's; the rest is counted event by event.
void expectCosts(const Case& run, const Case& other, const traces::RunComparison& comparison);
/// The comparison names exactly the parts that only one of the two recordings has.
void expectLeftOut(const Case& run, const Case& other, const traces::RunComparison& comparison);
/// The rows of a training step say these costs, and their ratios.
void expectCostRows(const viz::CompareScene& scene, const traces::RunComparison& comparison,
                    int step);

}  // namespace ringscope::facts
