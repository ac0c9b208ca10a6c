// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/chart_layout.h"

namespace ringscope::viz {

/// The critical path over the lanes of a chart as lines: along the upper edge of what it goes over,
/// straight down or up where it goes on in another lane; links of ranks that are not on show are
/// left out. However long it is, a line has a few points a pixel column.
std::vector<QPolygonF> chainLines(const ChartLayout& layout, const ChartScene& scene);

/// Draws them; returns how many points they have.
int paintChain(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
               const Theme& theme);

}  // namespace ringscope::viz
