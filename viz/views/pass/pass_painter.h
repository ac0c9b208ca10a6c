// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/pass/pass_scene.h"
#include "viz/views/pass/time_scale.h"

namespace ringscope::viz {

/// Time, without the scene's pauses, ↔ pixel of a timeline that is painted into an area.
TimeScale passScale(const QRectF& area, const PassScene& scene);

/// Draws a pass: a lane a rank with blocks attended, merges and waits, and hops as flows between
/// lanes.
void paintPass(QPainter& painter, const QRectF& area, const PassScene& scene, const Theme& theme);
/// The height at which every lane has its name and every bar its pattern.
double passHeight(const PassScene& scene);
/// Draws the viewed instant over it, the only part that moves within a pass.
void paintInstant(QPainter& painter, const QRectF& area, const PassScene& scene,
                  std::int64_t instant_ns, const Theme& theme);
/// Returns the box that paintInstant() draws into.
QRectF instantBox(const QRectF& area, const PassScene& scene, std::int64_t instant_ns);

/// The place to which a point of the timeline leads: the ring step and phase of the rank whose lane
/// holds the point.
struct PassHit {
  WorldRank rank;  ///< none: nowhere
  Place place;
  double phase = 0;
};
PassHit passHit(const QPointF& point, const QRectF& area, const PassScene& scene);

}  // namespace ringscope::viz
