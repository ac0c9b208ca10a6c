// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/chart_scene.h"

namespace ringscope::viz {

inline constexpr double kOverviewHeight = 40;

/// Time ↔ pixel of the overview.
WindowScale overviewScale(const QRectF& area, const ChartScene& scene);
/// All training steps beside each other, each with the shares of work, waits and sync in it; where
/// they are narrower than pixels, as columns.
void paintOverview(QPainter& painter, const QRectF& area, const ChartScene& scene,
                   const Theme& theme);
/// Draws the window on show, the only part that changes while the lanes move.
void paintOverviewWindow(QPainter& painter, const QRectF& area, const ChartScene& scene,
                         const Theme& theme);

/// The legend of colours and patterns: the height that it needs at a width, and its drawing.
double legendHeight(double width);
void paintLegend(QPainter& painter, const QRectF& area, const Theme& theme);

}  // namespace ringscope::viz
