// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/hub/hub.h"
#include "viz/maths/time_scale.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// The time that one layer's pass in one direction took over all ranks, on the given width.
TimeScale passScale(const Hub& hub, double left, double width);

/// How many events the viewed pass has; grows while it is being recorded.
std::size_t passEvents(const Hub& hub);

/// Draws the pass around the viewed moment: a lane a rank with blocks attended, merges and waits,
/// and hops as flows between lanes.
void paintTimeline(QPainter& painter, const QRectF& area, const Hub& hub, const Theme& theme);
/// Draws the viewed instant over it; the only part that moves within a pass.
void paintInstant(QPainter& painter, const QRectF& area, const Hub& hub, const Theme& theme);
/// What paintInstant() draws into.
QRectF instantBox(const QRectF& area, const Hub& hub);

/// Where a point of the timeline leads: the ring step and phase of the rank whose lane it is in.
struct TimelineHit {
  int rank = -1;
  Place place;
  double phase = 0;
};
TimelineHit timelineHit(const QPointF& point, const QRectF& area, const Hub& hub);

}  // namespace ringscope::viz
