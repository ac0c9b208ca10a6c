// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/merge/merge_scene.h"

namespace ringscope::viz {

/// Draws how one output row came together: each block's log-sum-exp, its weight, the running
/// result, and what a plain sum would have given.
void paintMerge(QPainter& painter, const QRectF& area, const MergeScene& scene, const Theme& theme);
/// The height that all blocks and the verdict need.
double mergeHeight(const MergeScene& scene);

}  // namespace ringscope::viz
