// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFontMetrics>
#include <QPainter>
#include <algorithm>
#include <vector>

#include "viz/style/theme.h"

namespace ringscope::viz {

/// Returns the box of a tag with these words at x, inside the area's sides.
inline QRectF chartTagBox(const QRectF& area, double x, double top, const QString& words) {
  constexpr double kHeight = 18;
  const double width = QFontMetrics(monoFont(11)).horizontalAdvance(words) + 12;
  return {std::clamp(x - width / 2, area.left(), area.right() - width), top, width, kHeight};
}

inline void paintChartTag(QPainter& p, const QRectF& box, const QString& words,
                          const QColor& ground, const QColor& ink) {
  p.setFont(monoFont(11));
  p.setPen(Qt::NoPen);
  p.setBrush(ground);
  p.drawRoundedRect(box, 4, 4);
  p.setPen(ink);
  p.drawText(box, Qt::AlignCenter, words);
}

inline bool meetsAny(const std::vector<QRectF>& tags, const QRectF& box) {
  return std::ranges::any_of(tags, [&](const QRectF& tag) { return tag.intersects(box); });
}

}  // namespace ringscope::viz
