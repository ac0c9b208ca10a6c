// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/inspector/inspector_scene.h"

namespace ringscope::viz {

/// Draws from top to bottom what is known of a rank: log-sum-exp by block, memory with the viewed
/// instant, and what the diff and the doctor say of the run. Returns the height that all of it
/// needs at this width.
double paintInspector(QPainter& painter, const QRectF& area, const InspectorScene& scene,
                      std::int64_t instant_ns, const Theme& theme);

}  // namespace ringscope::viz
