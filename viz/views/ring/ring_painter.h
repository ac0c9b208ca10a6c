// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QRegion>
#include <vector>

#include "viz/scene/position_rows.h"
#include "viz/scene/ring_scene.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Draws a ring: one card per rank, packets on their way, and the sentence in the middle. The
/// argument `phase` is the phase of the selected rank in its ring step. Only the region `dirty` is
/// drawn again; an empty region stands for everything.
void paintRing(QPainter& painter, const QRectF& area, const RingScene& scene, double phase,
               const Theme& theme, const QRegion& dirty = {});

/// The boxes of the ring and of the ranks' position ids beneath it.
struct RingAreas {
  QRectF ring, strip;
};
RingAreas ringAreas(const QRectF& area, const RingScene& scene);

/// The same with the position ids beneath it.
void paintRingPage(QPainter& painter, const QRectF& area, const RingScene& scene,
                   const PositionStrip& strip, double phase, const Theme& theme,
                   const QRegion& dirty = {});

/// Which parts of a drawn ring have changed, so that a frame costs what moves and not the screen.
class RingDamage {
 public:
  /// Returns the region that differs from the last call: packets, and cards and words with other
  /// contents.
  QRegion update(const QRectF& area, const RingScene& scene, double phase, const Theme& theme);

 private:
  struct Part {
    QString state;
    QRectF box;
  };
  std::vector<Part> parts_;
  QRegion packets_;
};

/// The rank whose card lies under a point of the ring, or none.
WorldRank rankAt(const QPointF& point, const QRectF& area, const RingScene& scene);

/// All that this card may have had no room for; empty where there is no card.
std::string describeCardAt(const QPointF& point, const QRectF& area, const RingScene& scene);

}  // namespace ringscope::viz
