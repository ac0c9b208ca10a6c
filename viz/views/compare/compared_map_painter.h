// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QImage>
#include <QPainter>
#include <optional>

#include "viz/scene/compared_map.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// A point of the picture of a map.
struct MapHit {
  std::size_t row = 0;  ///< the worst there: an index into the map's rows
  std::int64_t of = 1;  ///< rows that fall on it
  friend bool operator==(const MapHit&, const MapHit&) = default;
};

/// The rows under the pointer and of the last click.
struct MapLook {
  std::optional<MapHit> hovered, picked;
};

/// The height that a map with its scale and its sentences needs; 0 where there is no subject. It is
/// the same for every tensor that lacks nothing, so that what is under it stays where it is.
double comparedMapHeight(double width, const ComparedMap& map);

/// Draws a map, and knows what lies where. Keeps the folded rows and their colours, which are made
/// once for a map, a width and a theme.
class ComparedMapPainter {
 public:
  void paint(QPainter& painter, const QRectF& box, const ComparedMap& map, const MapLook& look,
             const Theme& theme);
  std::optional<MapHit> hit(const QPointF& point, const QRectF& box, const ComparedMap& map);

 private:
  void fold(const QRectF& box, const ComparedMap& map);
  void color(const ComparedMap& map, const Theme& theme);
  QRectF rowBox(const QRectF& body, const ComparedMap& map, std::size_t row) const;

  FoldedMap folded_;
  std::shared_ptr<const traces::DifferenceMap> of_;
  QSize size_;
  QImage image_;
  QString theme_;
};

}  // namespace ringscope::viz
