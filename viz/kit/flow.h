// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QStringList>

#include "viz/style/theme.h"

namespace ringscope::viz {

/// The height of words that are wrapped at a width.
double wrappedHeight(const QString& words, const QFont& font, double width);
/// Draws them from the top of a box in the painter's pen, and returns what is left `gap` below.
QRectF drawWrapped(QPainter& painter, const QRectF& box, const QString& words, const QFont& font,
                   double gap);
/// One line in the painter's pen, with dots where it is too long.
void drawElided(QPainter& painter, const QRectF& box, const QString& words, const QFont& font);
/// The small title of a part of a page, at the top of its box; returns what is left below.
QRectF drawPartTitle(QPainter& painter, const QRectF& box, const QString& title,
                     const Theme& theme);
inline constexpr double kPartTitle = 20;

/// A part of a page: a title, which may be empty, over wrapped sentences.
struct TextPart {
  QString title;
  QStringList sentences;
  QRectF box;

  /// At the bottom of a column, which grows by it; nothing where there are no sentences.
  static TextPart under(QRectF& column, const QString& title, const QStringList& sentences);
  void paint(QPainter& painter, const QColor& ink, const Theme& theme) const;
};
/// Between two parts of a column.
inline constexpr double kPartGap = 14;

}  // namespace ringscope::viz
