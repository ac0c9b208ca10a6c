// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/chart_layout.h"

namespace ringscope::viz {

/// Draws the critical path over the lanes of a chart: along the upper edges of bars, and straight
/// down or up to another lane. Links of ranks that are not on show are left out. A line has a few
/// points per pixel column, however long the path is.
std::vector<QPolygonF> chainLines(const ChartLayout& layout, const ChartScene& scene);

/// Draws them; returns how many points they have.
int paintChain(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
               const Theme& theme);

}  // namespace ringscope::viz
