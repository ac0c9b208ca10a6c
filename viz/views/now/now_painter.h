// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/scene/ring_scene.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Says what happens in a ring step, with the recorded numbers: the selected rank in large type,
/// the others beneath. The same at every phase.
void paintNow(QPainter& painter, const QRectF& area, const RingScene& scene, double phase,
              const Theme& theme);
/// The height that the sentence and all ranks need at this width.
double nowHeight(double width, const RingScene& scene);

}  // namespace ringscope::viz
