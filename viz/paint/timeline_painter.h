// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/maths/time_scale.h"
#include "viz/scene/timeline_scene.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Time ↔ pixel of a timeline that is painted into an area.
TimeScale timelineScale(const QRectF& area, const TimelineScene& scene);

/// Draws a pass: a lane a rank with blocks attended, merges and waits, and hops as flows between
/// lanes.
void paintTimeline(QPainter& painter, const QRectF& area, const TimelineScene& scene,
                   const Theme& theme);
/// The height at which every lane has its name and every bar its pattern.
double timelineHeight(const TimelineScene& scene);
/// Draws the viewed instant over it, the only part that moves within a pass.
void paintInstant(QPainter& painter, const QRectF& area, const TimelineScene& scene,
                  std::int64_t instant_ns, const Theme& theme);
/// What paintInstant() draws into.
QRectF instantBox(const QRectF& area, const TimelineScene& scene, std::int64_t instant_ns);

/// Where a point of the timeline leads: the ring step and phase of the rank whose lane it is in.
struct TimelineHit {
  WorldRank rank;  ///< none: nowhere
  Place place;
  double phase = 0;
};
TimelineHit timelineHit(const QPointF& point, const QRectF& area, const TimelineScene& scene);

}  // namespace ringscope::viz
