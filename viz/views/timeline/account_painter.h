// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::viz {

/// Draws the account of a training step: its uses of time, exposed communication, thread CPU
/// against wall time, and the selection; `selected` may be null. Returns the height that it took.
double paintAccount(QPainter& painter, const QRectF& area, const StepAccount& account,
                    const SpanDetails* selected, const Theme& theme);

}  // namespace ringscope::viz
