// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QRegion>
#include <cmath>
#include <optional>

#include "viz/scene/ring_scene.h"
#include "viz/style/theme.h"
#include "viz/views/ring/ring_layout.h"

namespace ringscope::viz {

/// Everything that the parts of the ring's drawing need.
struct RingCanvas {
  QPainter& p;
  const RingLayout& layout;
  const RingScene& scene;
  double phase;  ///< of the selected rank
  const Theme& theme;
  QRegion dirty;  ///< what has to be drawn again; empty: all

  bool touches(const QRectF& box) const {
    return dirty.isEmpty() || dirty.intersects(box.toAlignedRect());
  }
  bool touches(const QRegion& region) const { return dirty.isEmpty() || dirty.intersects(region); }
  /// Cards are too small for more than who, what it holds, and whether it waits.
  bool compact() const { return crowded() || layout.scale() < 0.5; }
  /// Cards have room for their lines, but only in letters that do not shrink with them.
  bool small() const { return !compact() && layout.scale() < 1; }
  /// Cards stand so close that no packet fits between them.
  bool crowded() const { return scene.ranks.size() > 8; }
  /// The lane of what goes to any rank, and of KV where the ring is crowded.
  RingLane lane() const { return layout.lane(crowded() ? trackFace() : laneFace()); }
  /// That of dK and dV where there is no room for them along the track.
  RingLane gradientLane() const {
    if (!crowded()) return layout.lane(gradientFace());
    return layout.lane(trackFace(), (trackFace() + gradientFace()) / 2 + QSizeF(s(12), s(12)));
  }
  /// Returns the room that the lanes leave to the words in the middle. Returns nothing when the
  /// scene has no lanes, or when they leave too little room.
  std::optional<QRectF> insideLanes() const {
    const bool gathers =
        scene.heads_shared_by > 1 ||
        std::ranges::any_of(scene.ranks, [](const RankScene& r) { return r.sources.size() > 1; });
    const bool gradients = compact() && scene.place.direction == traces::Direction::kBackward;
    if (!crowded() && !gradients && !gathers) return std::nullopt;
    QRectF inside = lane().inside(crowded() ? trackFace() : laneFace());
    if (crowded() || gradients) inside &= gradientLane().inside(gradientFace());
    constexpr QSizeF kLeast(120, 28);  // of the headline by itself
    const bool enough = inside.width() >= kLeast.width() && inside.height() >= kLeast.height();
    return enough ? std::optional(inside) : std::nullopt;
  }
  double s(double px) const { return px * layout.scale(); }
  /// Faces that travel: on the track, with dK and dV, and of gathers and all-to-alls.
  QSizeF trackFace() const { return face(76); }
  QSizeF gradientFace() const { return face(84); }
  QSizeF laneFace() const { return face(compact() ? 44 : 36); }
  int font(double px) const { return std::max(8, static_cast<int>(std::lround(s(px)))); }

 private:
  QSizeF face(double width) const {
    const double large = compact() ? 1.7 : 1;
    return {s(width) * large, s(28) * large};
  }
};

inline QColor faded(QColor color, int alpha) {
  color.setAlpha(alpha);
  return color;
}

}  // namespace ringscope::viz
