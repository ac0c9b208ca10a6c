// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <vector>

#include "viz/style/theme.h"
#include "viz/views/compare/place_rows_scene.h"

namespace ringscope::viz {

/// The colour that an agreement is said in: red for wrong, green for right.
QColor agreementColor(Agreement agreement, const Theme& theme);

/// A table of places: a head above rows of equal height.
class PlaceTable {
 public:
  PlaceTable(const QPointF& at, double width, std::size_t rows)
      : box_(at, QSizeF(width, kHead + kRow * static_cast<double>(rows))), rows_(rows) {}

  const QRectF& box() const { return box_; }
  QRectF row(std::size_t at) const {
    return {box_.left(), box_.top() + kHead + kRow * static_cast<double>(at), box_.width(), kRow};
  }
  /// Returns the box at the left of a row that opens and closes a place.
  QRectF opener(std::size_t at) const {
    QRectF box = row(at);
    box.setWidth(kOpener);
    return box;
  }
  /// The row at a point; rows(): none is.
  std::size_t rowAt(const QPointF& point) const;
  std::size_t rows() const { return rows_; }

  /// Draws the rows that are `seen`; `selected`: one of them, or rows().
  void paint(QPainter& painter, const std::vector<PlaceRow>& places, const QRectF& seen,
             std::size_t selected, const Theme& theme) const;

 private:
  static constexpr double kHead = 24, kRow = 24, kOpener = 28;
  void paintHead(QPainter& painter, const Theme& theme) const;
  void paintRow(QPainter& painter, const QRectF& box, const PlaceRow& place,
                const Theme& theme) const;

  QRectF box_;
  std::size_t rows_;
};

}  // namespace ringscope::viz
