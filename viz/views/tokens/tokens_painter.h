// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/tokens/tokens_scene.h"

namespace ringscope::viz {

/// Returns the number of columns of pixels that a page has for tokens.
std::int64_t tokenColumns(const QRectF& area);

/// Draws four lanes: loss, log-probability, owner and difference of each column. Lines mark the
/// borders of chunks, shards and documents. `columns` are those of the scene for this area.
void paintTokens(QPainter& painter, const QRectF& area, const TokensScene& scene,
                 const std::vector<TokenColumn>& columns, const Theme& theme);

/// Returns the index of the point that is largest in the column under a position; nullopt when no
/// target is there.
std::optional<std::size_t> tokensHit(const QPointF& position, const QRectF& area,
                                     const std::vector<TokenColumn>& columns);

}  // namespace ringscope::viz
