// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QAbstractButton>
#include <QPainter>

#include "viz/style/elide.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// A button that is one line of a list: a name, a remark beside it, and a time at the right.
class LineButton : public QAbstractButton {
 public:
  LineButton(const QString& name, const QString& remark, const QString& time, QWidget* parent)
      : QAbstractButton(parent), remark_(remark), time_(time) {
    setText(name);
    setAccessibleName(name);
    setAccessibleDescription(remark + " · " + time);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_Hover);
    setFixedHeight(kHeight);
  }
  QSize sizeHint() const override { return {kTime * 3, kHeight}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QPalette& colors = palette();
    if (hasFocus() || underMouse()) {
      painter.setPen(hasFocus() ? QPen(colors.color(QPalette::Highlight)) : QPen(Qt::NoPen));
      painter.setBrush(colors.color(QPalette::Button));
      painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    }
    const QRect line = rect().adjusted(8, 0, -8, 0);
    const int half = (line.width() - kTime) / 2 - kBetween;
    const auto write = [&](int left, int width, int side, const QString& words) {
      painter.drawText(QRect(left, 0, width, height()), side | Qt::AlignVCenter,
                       elided(painter.fontMetrics(), words, width));
    };
    painter.setPen(colors.color(QPalette::WindowText));
    painter.setFont(textFont(13, QFont::Medium));
    write(line.left(), half, Qt::AlignLeft, text());
    painter.setPen(colors.color(QPalette::PlaceholderText));
    painter.setFont(textFont(12));
    write(line.left() + half + kBetween, half, Qt::AlignLeft, remark_);
    painter.setFont(monoFont(12));
    write(line.right() - kTime, kTime, Qt::AlignRight, time_);
  }

 private:
  static constexpr int kHeight = 26, kTime = 130, kBetween = 16;

  QString remark_, time_;
};

}  // namespace ringscope::viz
