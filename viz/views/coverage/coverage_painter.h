// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/coverage/coverage_scene.h"

namespace ringscope::viz {

/// Draws the matrix of query chunks and key chunks as far as it is filled, and each rank's work
/// beside it. The same at every phase.
void paintCoverage(QPainter& painter, const QRectF& area, const CoverageScene& scene, double phase,
                   const Theme& theme);

/// The height that the list of ranks needs at this width.
double coverageHeight(double width, const CoverageScene& scene);

struct ChunkPair {
  int query = 0, key = 0;
};
/// The pair whose cell lies under a point.
std::optional<ChunkPair> coverageHit(const QPointF& point, const QRectF& area,
                                     const CoverageScene& scene);

}  // namespace ringscope::viz
