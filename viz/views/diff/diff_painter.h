// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/diff/diff_scene.h"

namespace ringscope::viz {

/// Draws both tables, the loss and the gradients of parameters, and where in the chosen tensor its
/// error lies.
void paintDiff(QPainter& painter, const QRectF& area, const DiffScene& scene, const Theme& theme);
/// The height that all tables need, with some room for the rest.
double diffHeight(double width, const DiffScene& scene);

/// What lies under a point of a drawn diff: at most one of the two.
struct DiffHit {
  std::optional<DiffCell> cell;
  std::optional<ErrorUnit> unit;
};
DiffHit diffHit(const QPointF& point, const QRectF& area, const DiffScene& scene);

}  // namespace ringscope::viz
