// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <optional>

#include "viz/style/theme.h"
#include "viz/views/memory/memory_scene.h"

namespace ringscope::viz {

/// The areas of the plots in a drawn memory scene.
struct MemoryAreas {
  QRectF over_time, law;
};
MemoryAreas memoryAreas(const QRectF& area);

/// Draws everything but the viewed instant: memory by category over the run, its peak, and the law.
/// Takes tens of milliseconds, so that a view keeps the picture.
void paintMemory(QPainter& painter, const QRectF& area, const MemoryScene& scene,
                 const Theme& theme);
/// Draws the viewed instant over it.
void paintMemoryInstant(QPainter& painter, const QRectF& area, const MemoryScene& scene,
                        std::int64_t instant_ns, const Theme& theme);

/// The instant that a point of the plot over time stands for.
std::optional<std::int64_t> memoryHit(const QPointF& point, const QRectF& area,
                                      const MemoryScene& scene);

}  // namespace ringscope::viz
