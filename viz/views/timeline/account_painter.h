// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/account_scene.h"
#include "viz/views/timeline/span_details_scene.h"

namespace ringscope::viz {

/// Where the time of a training step goes, what of its communication is exposed, thread CPU against
/// wall time, and what is selected; `selected` may be null. Returns the height that it took.
double paintAccount(QPainter& painter, const QRectF& area, const StepAccount& account,
                    const SpanDetails* selected, const Theme& theme);

}  // namespace ringscope::viz
