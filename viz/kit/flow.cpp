// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/kit/flow.h"

#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

constexpr double kBetween = 4;  // sentences

}  // namespace

double wrappedHeight(const QString& words, const QFont& font, double width) {
  constexpr double kMost = 1e5;
  return QFontMetricsF(font)
      .boundingRect(QRectF(0, 0, width, kMost), Qt::TextWordWrap, words)
      .height();
}

QRectF drawWrapped(QPainter& p, const QRectF& box, const QString& words, const QFont& font,
                   double gap) {
  p.setFont(font);
  const double height = wrappedHeight(words, font, box.width());
  p.drawText(QRectF(box.topLeft(), QSizeF(box.width(), height)), Qt::TextWordWrap, words);
  return box.adjusted(0, height + gap, 0, 0);
}

void drawElided(QPainter& p, const QRectF& box, const QString& words, const QFont& font) {
  p.setFont(font);
  p.drawText(box, Qt::AlignVCenter, elided(p.fontMetrics(), words, box.width()));
}

QRectF drawPartTitle(QPainter& p, const QRectF& box, const QString& title, const Theme& theme) {
  p.setPen(theme.dim);
  p.setFont(textFont(11, QFont::DemiBold));
  p.drawText(QRectF(box.topLeft(), QSizeF(box.width(), 16)), Qt::AlignVCenter, title);
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
  QRectF rest = title.isEmpty() ? box : drawPartTitle(p, box, title, theme);
  for (const QString& sentence : sentences) {
    p.setPen(ink);
    rest = drawWrapped(p, rest, sentence, textFont(12), kBetween);
  }
}

}  // namespace ringscope::viz
