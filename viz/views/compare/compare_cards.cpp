// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/compare_cards.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"

namespace ringscope::viz {
namespace {

constexpr double kCardSide = 20, kCardGap = 12, kAbove = 10, kUnder = 10;
constexpr double kCardLeft = 16, kCardRight = 8, kCardTop = 5, kLine = 18, kCardLeast = 62;

QString nameFor(const RunCard& card) {
  return text(card.letter + "  " + card.name);
}

QFont nameFont() {
  return textFont(13, QFont::DemiBold);
}

double widthOf(const QString& words, const QFont& font) {
  return std::ceil(QFontMetricsF(font).horizontalAdvance(words)) + 1;
}

double widest(const RunCard& card) {
  return std::max({widthOf(nameFor(card), nameFont()), widthOf(text(card.headline), textFont(12)),
                   widthOf(text(card.numbers), monoFont(11))});
}

double widthOfButtons(int count) {
  return count * (kCardButton + kCardButtonGap);
}

/// Returns the height of the words under the name.
double wordsHeight(const RunCard& card, double width) {
  double height = 0;
  for (const auto& [words, font] :
       {std::pair(&card.headline, textFont(12)), {&card.numbers, monoFont(11)}})
    if (!words->empty()) height += wrappedHeight(text(*words), font, width) + 2;
  return height;
}

}  // namespace

CompareCards::CompareCards(double width, const RunCard& a, const RunCard& b) {
  const double card = (width - 2 * kCardSide - kCardGap) / 2, room = card - kCardLeft - kCardRight;
  first = QRectF(kCardSide, kAbove, card, kCardLeast);
  second = first.translated(card + kCardGap, 0);
  std::ranges::fill(name_width_, room);
  std::ranges::fill(words_width_, room);
  words_top_ = kCardTop + kLine;
  placeButtons(b);
  double height = kCardLeast;
  const RunCard* cards[] = {&a, &b};
  for (const int i : {0, 1})
    height = std::max(height, words_top_ + wordsHeight(*cards[i], words_width_[i]) + kCardTop);
  const bool under = buttons.isNull();
  if (under) {
    const double wide = std::min(room, widthOfButtons(3));
    buttons =
        QRectF(second.right() - kCardRight - wide, second.top() + height, wide, kCardButtonHigh);
    height += kCardButtonHigh + kCardRight;
  } else if (words_width_[1] < room) {
    buttons.moveTop(second.top() + (height - kCardButtonHigh) / 2);
  }
  first.setHeight(height);
  second.setHeight(height);
  head = second.bottom() + kUnder;
}

/// Beside all words, or beside the name; null where neither has room.
void CompareCards::placeButtons(const RunCard& card) {
  const double room = words_width_[1];
  for (const double words : {widest(card), widthOf(nameFor(card), nameFont())})
    for (const int count : {3, 2}) {
      const double wide = widthOfButtons(count);
      if (words + wide > room) continue;
      buttons = QRectF(second.right() - kCardRight - wide, second.top() + kCardTop, wide,
                       kCardButtonHigh);
      name_width_[1] -= wide;
      if (words == widest(card))
        words_width_[1] -= wide;
      else
        words_top_ = kCardTop + kCardButtonHigh + 2;
      return;
    }
}

int CompareCards::buttonCount() const {
  return static_cast<int>((buttons.width() + kCardButtonGap) / (kCardButton + kCardButtonGap));
}

void CompareCards::paint(QPainter& p, const QRectF& seen, const RunCard& a, const RunCard& b,
                         const Theme& theme) const {
  p.fillRect(QRectF(seen.topLeft(), QSizeF(seen.width(), head - 4)), theme.background);
  paintCard(p, seen.topLeft(), 0, a, theme);
  paintCard(p, seen.topLeft(), 1, b, theme);
}

void CompareCards::paintCard(QPainter& p, const QPointF& shift, int which, const RunCard& card,
                             const Theme& theme) const {
  const QRectF box = (which == 0 ? first : second).translated(shift);
  p.setPen(QPen(theme.line, 1));
  p.setBrush(theme.panel);
  p.drawRoundedRect(box, 6, 6);
  p.setPen(Qt::NoPen);
  p.setBrush(which == 0 ? theme.accent : theme.dim);
  p.drawRoundedRect(QRectF(box.left(), box.top(), 4, box.height()), 2, 2);
  const QRectF line(box.left() + kCardLeft, box.top() + kCardTop, name_width_[which],
                    words_top_ - kCardTop - (words_top_ > kCardTop + kLine ? 2 : 0));
  p.setPen(theme.text);
  p.setFont(nameFont());
  p.drawText(
      line, Qt::AlignVCenter,
      p.fontMetrics().elidedText(nameFor(card), Qt::ElideMiddle, static_cast<int>(line.width())));
  QRectF rest(box.left() + kCardLeft, box.top() + words_top_, words_width_[which], 0);
  rest = writeWrapped(p, rest, text(card.headline), textFont(12), theme.dim, 2);
  writeWrapped(p, rest, text(card.numbers), monoFont(11), theme.dim, 2);
}

}  // namespace ringscope::viz
