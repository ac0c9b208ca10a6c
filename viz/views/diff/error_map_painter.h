// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/diff/error_map_scene.h"

namespace ringscope::viz {

/// Draws errors as heads × positions, with the shard borders and their ranks beneath; what lies
/// beyond its limit is in the colour of what is wrong.
void paintErrorMap(QPainter& painter, const QRectF& area, const ErrorMap& map, ErrorUnit unit,
                   const Theme& theme);

/// Draws how many rows have which error, on a logarithmic axis, and along it the colours that the
/// map has for them.
void paintErrorHistogram(QPainter& painter, const QRectF& area, const ErrorMap& map, ErrorUnit unit,
                         const Theme& theme);

}  // namespace ringscope::viz
