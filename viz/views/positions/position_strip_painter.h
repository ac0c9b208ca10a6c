// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/scene/position_rows.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// Draws each rank's position ids as bars over its shard; wrong ones outlined, hatched, counted and
/// said.
void paintPositionStrip(QPainter& painter, const QRectF& area, const PositionStrip& strip,
                        const Theme& theme);

/// Draws a run over its bar: its rank's colour and its ends, or, where it is wrong, outlined and
/// hatched. The painter's pen is left in the ink of what was written.
void paintPositionRun(QPainter& painter, const QRectF& bar, const PositionRun& run, WorldRank rank,
                      const Theme& theme);

/// Draws runs in global order over a bar, as many as there are pixels.
void paintHeldRuns(QPainter& painter, const QRectF& bar, const std::vector<HeldRun>& runs,
                   const Theme& theme);

/// The place of one rank in a drawn strip of `rows` ranks. Ranks lie in several columns when the
/// lines of a single column would be too thin to read.
struct StripRow {
  QRectF name, bar;
};
StripRow positionStripRow(const QRectF& area, std::size_t rows, std::size_t row);

}  // namespace ringscope::viz
