// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRectF>
#include <vector>

#include "viz/views/timeline/chart_scene.h"

namespace ringscope::viz {

/// The layout of a chart of lanes, in logical pixels.
struct ChartLayout {
  struct Row {
    GroupRank seat = GroupRank::of(0);
    LaneKind lane = LaneKind::kCompute;
    QRectF box;  ///< as wide as the lanes
  };
  QRectF area;
  QRectF ruler, lanes;
  std::vector<QRectF> ranks;  ///< a box each, lanes and caption; may reach beyond `lanes`
  std::vector<QRectF> captions;
  std::vector<Row> rows;
  double labels = 0;  ///< width of the names at the left

  WindowScale scale(const TimeWindow& window) const {
    return {window, lanes.left(), lanes.width()};
  }
  /// Null: between rows.
  const Row* rowAt(const QPointF& point) const;
  const Row* row(GroupRank seat, LaneKind lane) const;
};

ChartLayout chartLayout(const QRectF& area, const ChartScene& scene, double scroll);
/// How far that can be.
double mostScroll(const QRectF& area, const ChartScene& scene);

}  // namespace ringscope::viz
