// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QImage>
#include <QPainter>
#include <QPixmap>

#include "viz/style/theme.h"
#include "viz/views/timeline/chart_layout.h"
#include "viz/views/timeline/flow_stamps.h"
#include "viz/views/timeline/lane_sample_scene.h"

namespace ringscope::viz {

/// The memory of a chart between frames, with words and curves that were drawn once. One per theme
/// and zoom.
struct ChartCanvas {
  QImage strip;  ///< of one lane where many stretches share a pixel
  LaneSample sample;
  QHash<QString, QPixmap> words;
  FlowStamps flows;
  int primitives = 0;  ///< shapes and words that the last frame drew, besides pictures of lanes
};

/// Draws ruler, lanes, hops between them, marks, the measured range and the viewed instant. However
/// many events there are, its work is that of the pixels.
void paintChart(QPainter& painter, const ChartLayout& layout, const ChartScene& scene,
                ChartCanvas& canvas, const Theme& theme);

/// "◆ model" at the upper left, beside a ruler or a legend.
void paintModelLabel(QPainter& painter, const QRectF& area, const Theme& theme);

/// Returns the stretch under a point; may not exist.
SpanPlace chartHit(const QPointF& point, const ChartLayout& layout, const ChartScene& scene);

}  // namespace ringscope::viz
