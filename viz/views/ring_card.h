// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/views/ring_canvas.h"

namespace ringscope::viz {

/// One rank: who it is, what it holds and attends, and whether it waits.
void drawCard(const RingCanvas& canvas, const RankScene& rank);

/// What drawCard() touches.
QRectF cardBounds(const RingCanvas& canvas, int rank);

/// What the rank is doing now, in words and a colour that repeats them.
std::pair<QString, QColor> activity(const RingCanvas& canvas, const RankScene& rank);

}  // namespace ringscope::viz
