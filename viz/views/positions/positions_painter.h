// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/positions/positions_scene.h"

namespace ringscope::viz {

/// Draws all ranks over the whole sequence, and beneath them the buffers of the selected rank and
/// its tokens from `first` on: what each is, beneath what it should be.
void paintPositions(QPainter& painter, const QRectF& area, const PositionsScene& scene, int first,
                    const Theme& theme);

/// How many tokens have room.
int visibleTokens(const QRectF& area, const PositionsScene& scene);
/// The nearest first token at which the room is used.
int clampedFirst(int first, const QRectF& area, const PositionsScene& scene);

/// A point on the bar of a rank, and how far into its shard it lies, 0 to 1.
struct PositionsHit {
  WorldRank rank = WorldRank::of(0);
  double share = 0;
};
/// Returns the index in the table of the token under a point; nullopt when there is none.
std::optional<int> positionsTokenHit(const QPointF& point, const QRectF& area,
                                     const PositionsScene& scene, int first);
std::optional<PositionsHit> positionsHit(const QPointF& point, const QRectF& area,
                                         const PositionsScene& scene);

}  // namespace ringscope::viz
