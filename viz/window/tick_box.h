// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QCheckBox>
#include <QPainter>
#include <QStyleOptionButton>

namespace ringscope::viz {

/// A box with a tick where it is checked: style sheets leave the standard one out.
class TickBox : public QCheckBox {
 public:
  using QCheckBox::QCheckBox;

 protected:
  void paintEvent(QPaintEvent* event) override {
    QCheckBox::paintEvent(event);
    if (!isChecked()) return;
    QStyleOptionButton option;
    initStyleOption(&option);
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
