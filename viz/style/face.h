// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QBrush>
#include <QPainter>
#include <QRectF>

#include "viz/style/theme.h"

namespace ringscope::viz {

/// The rank's colour under its pattern (dots, diagonals, grid, lines, …), so that nobody needs the
/// hue.
QBrush rankBrush(traces::WorldRank rank);

/// A KV block's face, the same in every view: colour and pattern of its source rank, and its label
/// on a light plate. The label is left out when there is no room for it.
void paintFace(QPainter& painter, const QRectF& rect, traces::WorldRank source_rank,
               const QString& label, const Theme& theme);

/// The same for a face that moves: drawn once, then copied to where it is.
void paintMovingFace(QPainter& painter, const QRectF& rect, traces::WorldRank source_rank,
                     const QString& label, const Theme& theme);

}  // namespace ringscope::viz
