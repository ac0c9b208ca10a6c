// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/hub/hub.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Draws the ring at the hub's moment: a card a rank, packets on their way, the sentence in the
/// middle. Pure: the same for screen, screenshot and test.
void paintRing(QPainter& painter, const QRectF& area, const Hub& hub, const Theme& theme);

/// The rank whose card lies under a point, or -1.
int rankAt(const QPointF& point, const QRectF& area, int ranks);

}  // namespace ringscope::viz
