// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/base/scrolled_page.h"

#include <QKeyEvent>
#include <QWheelEvent>
#include <cmath>

#include "viz/kit/plain_key.h"

namespace ringscope::viz {

ScrolledPage::ScrolledPage(const QString& name, QWidget* parent)
    : QWidget(parent), scroll_bar_(new QScrollBar(Qt::Vertical, this)) {
  scroll_bar_->setAccessibleName("Scroll " + name);
  scroll_bar_->setFocusPolicy(Qt::NoFocus);
  scroll_bar_->hide();
  connect(scroll_bar_, &QScrollBar::valueChanged, this, [this] {
    arrange();
    update();
  });
}

void ScrolledPage::fitScrollBar() {
  constexpr int kWidth = 8;
  const int farthest = static_cast<int>(std::ceil(farthestScroll()));
  scroll_bar_->setRange(0, farthest);
  scroll_bar_->setPageStep(static_cast<int>(QWidget::height() / zoom_));
  scroll_bar_->setSingleStep(24);
  scroll_bar_->setGeometry(QWidget::width() - kWidth, 0, kWidth, QWidget::height());
  scroll_bar_->setVisible(farthest > 0);
  if (farthest > 0) scroll_bar_->raise();
  arrange();
}

void ScrolledPage::followHeight() {
  if (scroll_bar_->maximum() != static_cast<int>(std::ceil(farthestScroll())))
    QMetaObject::invokeMethod(this, &ScrolledPage::fitScrollBar, Qt::QueuedConnection);
}

void ScrolledPage::scrollBy(double by) {
  fitScrollBar();
  scroll_bar_->setValue(static_cast<int>(std::lround(scrollTop() + by)));
}

void ScrolledPage::reveal(double top, double bottom, double head) {
  const double seen = QWidget::height() / zoom_;
  if (top < scrollTop() + head) return scrollBy(top - head - scrollTop());
  if (bottom > scrollTop() + seen) scrollBy(bottom - seen - scrollTop());
}

void ScrolledPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitScrollBar();
}

void ScrolledPage::wheelEvent(QWheelEvent* event) {
  if (!scrolls()) return QWidget::wheelEvent(event);
  scrollBy(-event->angleDelta().y() / 2.0);
}

void ScrolledPage::keyPressEvent(QKeyEvent* event) {
  const int key = plainKey(*event);
  const int pages = key == Qt::Key_PageDown ? 1 : key == Qt::Key_PageUp ? -1 : 0;
  if (pages == 0 || !scrolls()) return QWidget::keyPressEvent(event);
  scrollBy(pages * 0.8 * QWidget::height() / zoom_);
}

}  // namespace ringscope::viz
