// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QBrush>
#include <QFont>
#include <QPen>
#include <QPointF>

#include "viz/share/definitions.h"

namespace ringscope::viz {

/// A brush and the place at which its pattern begins.
struct PlacedBrush {
  QBrush brush;
  QPointF origin;
  double scale = 1;  ///< of the pattern
};

/// Returns CSS that fills a shape; empty: the shape is not filled.
QByteArray fillStyle(const PlacedBrush& placed, double opacity, Definitions& definitions);
/// Returns CSS that draws the outline of a shape; empty: there is none. `scale` is that of widths.
QByteArray strokeStyle(const QPen& pen, double opacity, double scale);
/// Returns CSS of a line of text.
QByteArray textStyle(const QFont& font, const QColor& color, double opacity, double scale);

}  // namespace ringscope::viz
