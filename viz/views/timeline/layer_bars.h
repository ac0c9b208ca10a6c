// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/timeline/account_scene.h"

namespace ringscope::viz {

inline constexpr double kLayerBars = 62;  ///< height of the bars with their legend

/// The most that a layer has exposed in a direction, nanoseconds; −1: no layer is recorded.
std::int64_t mostExposed(const StepAccount& account);

/// A pair of bars a layer: communication exposed in forward and in backward.
void paintLayerBars(QPainter& painter, const QRectF& area, const StepAccount& account,
                    const Theme& theme);

}  // namespace ringscope::viz
