// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>
#include <QStringList>
#include <string>

#include "viz/style/theme.h"

namespace ringscope::viz {

inline QString text(const std::string& words) {
  return QString::fromStdString(words);
}

/// Writes words into a box. The painter keeps the font and the colour.
void write(QPainter& painter, const QRectF& box, const QString& words, const QFont& font,
           const QColor& color, int flags = Qt::AlignVCenter);
/// Writes one line, which ends in dots when it is too long.
void writeElided(QPainter& painter, const QRectF& box, const QString& words, const QFont& font,
                 const QColor& color, int flags = Qt::AlignVCenter);
/// Writes wrapped words at the top of a box. Returns the rest of the box, `gap` below the words.
QRectF writeWrapped(QPainter& painter, const QRectF& box, const QString& words, const QFont& font,
                    const QColor& color, double gap);
/// Returns the height of words that are wrapped at a width.
double wrappedHeight(const QString& words, const QFont& font, double width);

/// Returns the line of a page's title.
QRectF titleLine(const QRectF& page);
/// Writes the title of a page, or of a section in a smaller `size`.
void paintTitle(QPainter& painter, const QRectF& line, const QString& title, const QColor& color,
                int size = 17);
/// Writes the wrapped sentences under the title of a page.
void paintLead(QPainter& painter, const QRectF& page, const QString& words, const Theme& theme);
/// Writes a sentence in place of content that cannot be shown.
void paintNote(QPainter& painter, const QRectF& area, const std::string& sentence,
               const Theme& theme);
/// Draws a bar that is filled from the left up to `share`, at least `least` pixels wide.
void paintBar(QPainter& painter, const QRectF& track, double share, const QBrush& fill,
              const Theme& theme, double radius = 2, double least = 0);

/// The font and the height of the small title of a part of a page.
QFont partFont();
inline constexpr double kPartTitle = 20;
/// Writes the small title of a part. Returns the rest of the box below the title.
QRectF paintPartTitle(QPainter& painter, const QRectF& box, const QString& title,
                      const Theme& theme);

/// A part of a page: a title, which may be empty, above wrapped sentences.
struct TextPart {
  QString title;
  QStringList sentences;
  QRectF box;

  /// Lays a part out under a column, which grows by the part. Without sentences, nothing is added.
  static TextPart under(QRectF& column, const QString& title, const QStringList& sentences);
  void paint(QPainter& painter, const QColor& ink, const Theme& theme) const;
};
/// The gap between two parts of a column.
inline constexpr double kPartGap = 14;

}  // namespace ringscope::viz
