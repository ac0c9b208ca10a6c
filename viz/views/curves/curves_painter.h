// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/curves/curves_scene.h"

namespace ringscope::viz {

/// Draws each curve in a plot of its own, beside its reference where there is one, and the viewed
/// training step over them. However many steps there are, its work is that of the pixels.
void paintCurves(QPainter& painter, const QRectF& area, const CurvesScene& scene,
                 std::int32_t train_step, const Theme& theme);

/// The step that is nearest to a point of a plot; nullopt: there is no plot.
std::optional<std::int32_t> curvesHit(const QPointF& point, const QRectF& area,
                                      const CurvesScene& scene);

/// The height that all plots need at this width.
double curvesHeight(double width, const CurvesScene& scene);

}  // namespace ringscope::viz
