// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QRegion>
#include <vector>

#include "viz/hub/hub.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Draws the ring at the hub's moment: a card a rank, packets on their way, the sentence in the
/// middle. Pure: the same for screen, screenshot and test.
/// `dirty`: what has to be drawn, where the rest is there already; empty: all.
void paintRing(QPainter& painter, const QRectF& area, const Hub& hub, const Theme& theme,
               const QRegion& dirty = {});

/// Which parts of a drawn ring have changed, so that a frame costs what moves and not the screen.
class RingDamage {
 public:
  /// What differs from the last call: the packets' way, and cards and words that say something
  /// else.
  QRegion update(const QRectF& area, const Hub& hub, const Theme& theme);

 private:
  struct Part {
    QString state;
    QRectF box;
  };
  std::vector<Part> parts_;
  QRegion packets_;
};

/// The rank whose card lies under a point, or -1.
int rankAt(const QPointF& point, const QRectF& area, int ranks);

}  // namespace ringscope::viz
