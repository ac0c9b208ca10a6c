// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>
#include <vector>

#include "viz/style/theme.h"
#include "viz/views/diff/diff_scene.h"

namespace ringscope::viz {

/// Draws both tables, the loss and the gradients of parameters, and where in the chosen tensor its
/// error lies.
void paintDiff(QPainter& painter, const QRectF& area, const DiffScene& scene, const Theme& theme);
/// The height that all tables need, with some room for the rest.
double diffHeight(double width, const DiffScene& scene);

/// Returns the cell under a point of a drawn diff.
std::optional<DiffCell> diffHit(const QPointF& point, const QRectF& area, const DiffScene& scene);

/// The place of the button for a unit of errors.
struct UnitButton {
  ErrorUnit unit;
  const char* name;
  QRectF box;
};
/// Returns the places of all unit buttons, beside the title of the error map. None without a map.
std::vector<UnitButton> diffUnits(const QRectF& area, const DiffScene& scene);

}  // namespace ringscope::viz
