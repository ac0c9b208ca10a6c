// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/kit/page.h"

#include <algorithm>

#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

constexpr double kBetween = 4;  // sentences
constexpr double kMostHeight = 1e5;

}  // namespace

void write(QPainter& p, const QRectF& box, const QString& words, const QFont& font,
           const QColor& color, int flags) {
  p.setFont(font);
  p.setPen(color);
  p.drawText(box, flags, words);
}

void writeElided(QPainter& p, const QRectF& box, const QString& words, const QFont& font,
                 const QColor& color, int flags) {
  p.setFont(font);
  write(p, box, elided(p.fontMetrics(), words, box.width()), font, color, flags);
}

QRectF writeWrapped(QPainter& p, const QRectF& box, const QString& words, const QFont& font,
                    const QColor& color, double gap) {
  const double height = wrappedHeight(words, font, box.width());
  write(p, QRectF(box.topLeft(), QSizeF(box.width(), height)), words, font, color,
        Qt::TextWordWrap);
  return box.adjusted(0, height + gap, 0, 0);
}

double wrappedHeight(const QString& words, const QFont& font, double width) {
  return QFontMetricsF(font)
      .boundingRect(QRectF(0, 0, width, kMostHeight), Qt::TextWordWrap, words)
      .height();
}

QRectF titleLine(const QRectF& page) {
  return {page.left() + 24, page.top() + 12, page.width() - 48, 24};
}

void paintTitle(QPainter& p, const QRectF& line, const QString& title, const QColor& color,
                int size) {
  writeElided(p, line, title, textFont(size, QFont::DemiBold), color);
}

void paintLead(QPainter& p, const QRectF& page, const QString& words, const Theme& theme) {
  write(p, QRectF(page.left() + 24, page.top() + 38, page.width() - 48, 36), words, textFont(13),
        theme.dim, Qt::AlignTop | Qt::TextWordWrap);
}

void paintNote(QPainter& p, const QRectF& area, const std::string& sentence, const Theme& theme) {
  write(p, area.adjusted(24, 12, -24, -12), text(sentence), textFont(15), theme.dim,
        Qt::AlignCenter | Qt::TextWordWrap);
}

void paintBar(QPainter& p, const QRectF& track, double share, const QBrush& fill,
              const Theme& theme, double radius, double least) {
  p.setPen(Qt::NoPen);
  p.setBrush(theme.raised);
  p.drawRoundedRect(track, radius, radius);
  const double width = std::max(least, track.width() * std::min(1.0, share));
  if (width <= 0) return;
  p.setBrushOrigin(track.topLeft());
  p.setBrush(fill);
  p.drawRoundedRect(QRectF(track.topLeft(), QSizeF(width, track.height())), radius, radius);
}

QFont partFont() {
  return textFont(11, QFont::DemiBold);
}

QRectF paintPartTitle(QPainter& p, const QRectF& box, const QString& title, const Theme& theme) {
  write(p, QRectF(box.topLeft(), QSizeF(box.width(), 16)), title, partFont(), theme.dim);
  return box.adjusted(0, kPartTitle, 0, 0);
}

TextPart TextPart::under(QRectF& column, const QString& title, const QStringList& sentences) {
  TextPart part{title, sentences, QRectF(column.left(), column.bottom(), column.width(), 0)};
  if (sentences.isEmpty()) return part;
  double height = title.isEmpty() ? 0 : kPartTitle;
  for (const QString& sentence : sentences)
    height += wrappedHeight(sentence, textFont(12), column.width()) + kBetween;
  part.box.setHeight(height);
  column.setBottom(part.box.bottom() + kPartGap);
  return part;
}

void TextPart::paint(QPainter& p, const QColor& ink, const Theme& theme) const {
  if (sentences.isEmpty()) return;
  QRectF rest = title.isEmpty() ? box : paintPartTitle(p, box, title, theme);
  for (const QString& sentence : sentences)
    rest = writeWrapped(p, rest, sentence, textFont(12), ink, kBetween);
}

}  // namespace ringscope::viz
