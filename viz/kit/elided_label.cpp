// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/kit/elided_label.h"

#include <QHelpEvent>
#include <QPainter>
#include <QTextDocument>
#include <QToolTip>
#include <algorithm>

#include "viz/style/elide.h"

namespace ringscope::viz {

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
}

void ElidedLabel::setMostLines(int lines) {
  most_lines_ = std::max(1, lines);
  updateGeometry();
}

QStringList ElidedLabel::shownLines() const {
  QStringList shown = lines();
  const qsizetype left_out = shown.size() - most_lines_;
  if (left_out > 0) {
    shown = shown.first(most_lines_);
    shown.last() += QString(" … and %1 more").arg(left_out);
  }
  for (QString& line : shown) line = elided(fontMetrics(), line, contentsRect().width());
  return shown;
}

QSize ElidedLabel::sizeHint() const {
  int width = 0;
  for (const QString& line : lines())
    width = std::max(width, fontMetrics().horizontalAdvance(line) + 2);
  return {width, minimumSizeHint().height()};
}

QSize ElidedLabel::minimumSizeHint() const {
  constexpr int kLetters = 6;
  const int shown = std::min(most_lines_, static_cast<int>(lines().size()));
  return {kLetters * fontMetrics().averageCharWidth(), shown * fontMetrics().lineSpacing() + 2};
}

bool ElidedLabel::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !isElided()) return QLabel::event(event);
  const QString more = toolTip().isEmpty() ? QString() : "\n\n" + toolTip();
  const QString all = text() + more;
  QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(),
                     Qt::mightBeRichText(all) ? Qt::convertFromPlainText(all) : all, this);
  return true;
}

void ElidedLabel::paintEvent(QPaintEvent* event) {
  if (!isElided()) return QLabel::paintEvent(event);
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(contentsRect(), Qt::AlignVCenter | Qt::AlignLeft, shownLines().join('\n'));
}

}  // namespace ringscope::viz
