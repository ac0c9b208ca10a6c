// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/scene/diff_scene.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Draws both tables, the rest where there is room, and where in the chosen tensor its error lies.
void paintDiff(QPainter& painter, const QRectF& area, const DiffScene& scene, const Theme& theme);

/// What lies under a point of a drawn diff: at most one of the two.
struct DiffHit {
  std::optional<DiffCell> cell;
  std::optional<ErrorUnit> unit;
};
DiffHit diffHit(const QPointF& point, const QRectF& area, const DiffScene& scene);

}  // namespace ringscope::viz
