// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/compare/compare_scene.h"
#include "viz/views/compare/compared_map_painter.h"

namespace ringscope::viz {

/// The visible part of the page, and the selection in it.
struct CompareLook {
  QRectF seen;               ///< the part that is in sight: the cards are at its top
  std::size_t selected = 0;  ///< a row of the places, or as many as there are
  MapLook map = {};          ///< what is pointed at there
};

/// Draws the verdict, the settings that differ, what the training step took, the places of the
/// model, and what was left out.
void paintCompare(QPainter& painter, const QRectF& area, const CompareScene& scene,
                  const CompareLook& look, ComparedMapPainter& map, const Theme& theme);
/// The height that all of it needs at this width.
double compareHeight(double width, const CompareScene& scene);

/// The parts of the page at a point.
struct CompareHit {
  bool verdict = false;
  bool floor = false;              ///< in the verdict, on the offer of a recording that has it
  std::optional<std::size_t> row;  ///< of the places
  bool opener = false;             ///< and there on what opens and closes it
};
CompareHit compareHit(const QPointF& point, const QRectF& area, const CompareScene& scene);
/// Returns the box of the map of |A − B|.
QRectF compareMap(const QRectF& area, const CompareScene& scene);
QRectF compareRow(const QRectF& area, const CompareScene& scene, std::size_t row);

/// The bar of how far the comparison is, 0 to 1, in the middle of the area, and a sentence over it.
void paintComparing(QPainter& painter, const QRectF& area, const QString& sentence, double progress,
                    const Theme& theme);

}  // namespace ringscope::viz
