// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <string>

#include "viz/style/theme.h"

namespace ringscope::viz {

/// A sentence in place of what cannot be shown.
inline void paintNote(QPainter& painter, const QRectF& area, const std::string& sentence,
                      const Theme& theme) {
  painter.setPen(theme.dim);
  painter.setFont(textFont(15));
  painter.drawText(area.adjusted(24, 12, -24, -12), Qt::AlignCenter | Qt::TextWordWrap,
                   QString::fromStdString(sentence));
}

}  // namespace ringscope::viz
