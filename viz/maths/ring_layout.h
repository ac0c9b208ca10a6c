// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <algorithm>
#include <cmath>
#include <numbers>

namespace ringscope::viz {

/// Where the cards of a ring stand: clockwise from the top, on an ellipse that fits the area.
class RingLayout {
 public:
  RingLayout(const QRectF& area, int ranks) : area_(area), ranks_(std::max(1, ranks)) {
    const double room = ranks_ <= 4 ? 1.0 : ranks_ <= 8 ? 0.7 : 0.36;
    scale_ = std::clamp(std::min(area.width() / 1060, area.height() / 500) * room, 0.15, 2.0);
    radius_ = QPointF(std::max(40.0, (area.width() - cardSize().width()) / 2 - 24 * scale_),
                      std::max(30.0, (area.height() - cardSize().height()) / 2 - 14 * scale_));
  }

  double scale() const { return scale_; }
  QSizeF cardSize() const { return {296 * scale_, 148 * scale_}; }
  QPointF center() const { return area_.center(); }
  QPointF radius() const { return ranks_ == 1 ? QPointF(0, 0) : radius_; }

  /// Angle of a place between ranks: rank 0 at the top, growing clockwise. In radians.
  double angle(double rank) const {
    return 2 * std::numbers::pi * rank / ranks_ - std::numbers::pi / 2;
  }
  /// A point of the ring; `inward` pixels nearer to the centre.
  QPointF point(double rank, double inward = 0) const {
    const double a = angle(rank);
    return center() +
           QPointF((radius().x() - inward) * std::cos(a), (radius().y() - inward) * std::sin(a));
  }
  QRectF card(int rank) const {
    const QPointF p = point(rank);
    const QSizeF s = cardSize();
    return {p.x() - s.width() / 2, p.y() - s.height() / 2, s.width(), s.height()};
  }
  /// How far along the ring a card covers it, in ranks, towards the next rank: where a packet comes
  /// into sight. Found by walking until the point leaves the card.
  double edge(int rank, int direction) const {
    const QRectF box = card(rank).adjusted(-6, -6, 6, 6);
    for (double d = 0; d < 0.5; d += 0.01)
      if (!box.contains(point(rank + direction * d))) return d;
    return 0.5;
  }

 private:
  QRectF area_;
  int ranks_;
  double scale_ = 1;
  QPointF radius_;
};

}  // namespace ringscope::viz
