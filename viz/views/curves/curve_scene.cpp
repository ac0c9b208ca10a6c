// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/curves/curve_scene.h"

#include <cmath>

#include "viz/scene/units.h"

namespace ringscope::viz {

std::string describe(const Curve& curve, double value) {
  if (curve.says == Curve::Says::kMultiple) return traces::describeMultiple(value);
  if (!std::isfinite(value)) return traces::describeSignificant(value, 4);
  if (curve.says == Curve::Says::kBytes) return describeBytes(std::llround(value));
  if (curve.says == Curve::Says::kRate)
    return value < 100 ? traces::describeSignificant(value, 3)
                       : traces::describeCount(std::llround(value));
  return traces::describeSignificant(value, 5);
}

}  // namespace ringscope::viz
