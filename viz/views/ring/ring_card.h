// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "viz/views/ring/ring_canvas.h"

namespace ringscope::viz {

/// The rank in one seat: who it is, what it holds and attends, and whether it waits.
void drawCard(const RingCanvas& canvas, GroupRank seat);

/// What drawCard() touches.
QRectF cardBounds(const RingCanvas& canvas, GroupRank seat);

/// The present action of a rank, in words and in a colour.
std::pair<QString, QColor> activity(const RingCanvas& canvas, const RankScene& rank);

}  // namespace ringscope::viz
