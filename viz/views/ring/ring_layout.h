// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPointF>
#include <QRectF>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "traces/format/schema/ids.h"

namespace ringscope::viz {

/// A closed way about the ring's centre, inside the cards: a superellipse (Lamé), from an ellipse
/// at exponent 2 to nearly a rectangle at 8.
struct RingLane {
  QPointF center, radius;
  double exponent = 2;

  QPointF point(double angle) const {
    auto bent = [this](double x) { return std::copysign(std::pow(std::abs(x), 2 / exponent), x); };
    return center + QPointF(radius.x() * bent(std::cos(angle)), radius.y() * bent(std::sin(angle)));
  }
  /// The largest part about the centre, of the lane's proportions, that no packet of this size on
  /// the lane touches.
  QRectF inside(const QSizeF& packet) const {
    constexpr double kGap = 2;
    const double corner = std::pow(2, -1 / exponent);
    const double x = std::max(0.0, corner * radius.x() - packet.width() / 2 - kGap);
    const double y = std::max(0.0, corner * radius.y() - packet.height() / 2 - kGap);
    return {center.x() - x, center.y() - y, 2 * x, 2 * y};
  }
};

/// The places of the cards of a ring: clockwise from the top, on an ellipse that fits the area. Two
/// cards stand side by side, the first at the left, because areas are wider than high.
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

  /// Angle of a place between ranks: that of rank 0 first, growing clockwise. In radians.
  double angle(double rank) const {
    const double first = ranks_ == 2 ? -std::numbers::pi : -std::numbers::pi / 2;
    return 2 * std::numbers::pi * rank / ranks_ + first;
  }
  /// A point of the ring; `inward` pixels nearer to the centre.
  QPointF point(double rank, double inward = 0) const {
    const double a = angle(rank);
    return center() +
           QPointF((radius().x() - inward) * std::cos(a), (radius().y() - inward) * std::sin(a));
  }
  QRectF card(traces::GroupRank seat) const {
    const QPointF p = point(seat.value());
    const QSizeF s = cardSize();
    return {p.x() - s.width() / 2, p.y() - s.height() / 2, s.width(), s.height()};
  }
  /// The lane with most room inside on which a packet of this size touches no card, less `inward`
  /// on each side; the centre where the ring has no such room.
  RingLane lane(const QSizeF& packet, const QSizeF& inward = {0, 0}) const;
  /// Returns the distance from a card, in ranks, at which a packet of this size no longer covers
  /// it. In a crowded ring, the distance at which the centre of the packet does not.
  double edge(traces::GroupRank seat, int direction, const QSizeF& packet,
              double inward = 0) const {
    const QRectF box = card(seat);
    auto clear = [&](double d, const QSizeF& size) {
      const QPointF p = point(seat.value() + direction * d, inward);
      return !box.intersects(
          QRectF(p.x() - size.width() / 2, p.y() - size.height() / 2, size.width(), size.height()));
    };
    constexpr double kFarthest = 0.46, kFine = 0.01;
    for (const QSizeF& size : {packet, QSizeF(8, 8)}) {
      if (!clear(kFarthest, size)) continue;
      double inside = 0, outside = kFarthest;  // once clear of the card, it stays clear
      while (outside - inside > kFine) {
        const double middle = (inside + outside) / 2;
        (clear(middle, size) ? outside : inside) = middle;
      }
      return outside;
    }
    return kFarthest;
  }

 private:
  RingLane findLane(const QSizeF& packet) const;

  QRectF area_;
  int ranks_;
  double scale_ = 1;
  QPointF radius_;
};

}  // namespace ringscope::viz
