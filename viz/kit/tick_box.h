// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QPainter>
#include <QStyleOptionButton>
#include <QStylePainter>
#include <algorithm>

#include "viz/style/elide.h"

namespace ringscope::viz {

/// A box with a tick where it is checked: style sheets leave the standard one out. Words without
/// room end in "…"; who has long ones sets a tooltip.
class TickBox : public QCheckBox {
 public:
  using QCheckBox::QCheckBox;

  QSize minimumSizeHint() const override {
    const QSize whole = QCheckBox::minimumSizeHint();
    return {std::min(whole.width(), 12 * fontMetrics().averageCharWidth()), whole.height()};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QStyleOptionButton option;
    initStyleOption(&option);
    const QRect words = style()->subElementRect(QStyle::SE_CheckBoxContents, &option, this);
    option.text = elided(fontMetrics(), text(), words.width());
    QStylePainter(this).drawControl(QStyle::CE_CheckBox, option);
    if (!isChecked()) return;
    const QRectF box = style()->subElementRect(QStyle::SE_CheckBoxIndicator, &option, this);
    const QPointF middle = box.center();
    const double unit = box.width() / 14;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::HighlightedText), 2 * unit, Qt::SolidLine,
                        Qt::RoundCap, Qt::RoundJoin));
    painter.drawPolyline(QPolygonF{middle + QPointF(-3.6, 0.2) * unit,
                                   middle + QPointF(-1.0, 2.8) * unit,
                                   middle + QPointF(3.8, -2.8) * unit});
  }
};

}  // namespace ringscope::viz
