// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "viz/scene/data.h"
#include "viz/views/curves/curve_scene.h"

namespace ringscope::viz {

/// How training goes: loss, gradient norm, the worst verdict, tokens a second, memory.
struct CurvesScene {
  std::string note;                 ///< why nothing is shown; empty when something is
  std::vector<std::int32_t> steps;  ///< that something is known of, ascending
  std::vector<Curve> curves;        ///< those of which something is known of any step
  std::string missing;              ///< what is not known of any, and what would record it

  friend bool operator==(const CurvesScene&, const CurvesScene&) = default;
};

CurvesScene makeCurvesScene(const traces::Trace& trace);

/// Describes a training step: "step 3: loss 5.72, unsharded 5.72 · gradient norm 0.66".
std::string describeStep(const CurvesScene& scene, std::int32_t train_step);

}  // namespace ringscope::viz
