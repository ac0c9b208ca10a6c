// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/base/view.h"

#include <QKeyEvent>
#include <QPaintEvent>
#include <QWheelEvent>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

View::View(Viewing& viewing, const QString& accessible_name, QWidget* parent)
    : QWidget(parent), viewing_(viewing), scroll_bar_(new QScrollBar(Qt::Vertical, this)) {
  setAccessibleName(accessible_name);
  scroll_bar_->setAccessibleName("Scroll " + accessible_name.section(':', 0, 0));
  scroll_bar_->setFocusPolicy(Qt::NoFocus);
  scroll_bar_->hide();
  connect(scroll_bar_, &QScrollBar::valueChanged, this, [this] {
    arrange();
    update();
  });
  setMinimumSize(320, 240);
  setFocusPolicy(Qt::StrongFocus);
  connect(&viewing.navigator, &Navigator::cursorChanged, this, &View::follow);
  connect(&viewing.session, &Session::dataChanged, this, &View::follow);
  connect(&viewing.session, &Session::stateChanged, this, &View::follow);
}

void View::setTheme(const Theme& theme) {
  theme_ = &theme;
  themeChanged();
  update();
}

void View::setZoom(double zoom) {
  zoom_ = zoom;
  themeChanged();
  fitScrollBar();
  update();
}

Cursor View::watched(Cursor cursor) const {
  cursor.phase = 0;
  return cursor;
}

void View::follow() {
  if (!isVisible()) return;  // showEvent() follows
  const Made now{viewing_.session.version(), watched(cursor())};
  if (made_ == now) return moved();
  made_ = now;
  if (recording_ != viewing_.session.recording()) {
    recording_ = viewing_.session.recording();
    scroll_bar_->setValue(0);
    startOver();
  }
  renew();
}

void View::renew() {
  guard([this] { refresh(); });
}

void View::guard(const std::function<void()>& make) {
  problem_.clear();
  try {
    make();
  } catch (...) {
    problem_ = describeProblem(std::current_exception());
    describe(problem_.toStdString());
    update();
  }
  fitScrollBar();
}

void View::describe(const std::string& sentence) {
  const QString words = text(sentence);
  if (accessibleDescription() != words) setAccessibleDescription(words);
}

void View::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  follow();
}

void View::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(zoom_, zoom_);
  const bool whole = zoom_ != 1 || farthestScroll() > 0;
  if (scroll_bar_->maximum() != static_cast<int>(std::ceil(farthestScroll())))
    QMetaObject::invokeMethod(this, &View::fitScrollBar, Qt::QueuedConnection);
  painter.save();
  painter.translate(0, -scrollTop());
  if (problem_.isEmpty()) {
    paint(painter, page(), whole ? QRegion() : event->region());
  } else {
    painter.fillRect(page(), theme_->background);
    paintNote(painter, page(), problem_.toStdString(), *theme_);
  }
  painter.restore();
  if (!shows_focus_) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_->accent, 2));
  painter.drawRect(QRectF(QPointF(1, 1), QSizeF(size()) / zoom_ - QSizeF(2, 2)));
}

void View::fitScrollBar() {
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

void View::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitScrollBar();
}

void View::scrollBy(double by) {
  fitScrollBar();
  scroll_bar_->setValue(static_cast<int>(std::lround(scrollTop() + by)));
}

void View::reveal(double top, double bottom, double head) {
  const double seen = QWidget::height() / zoom_;
  if (top < scrollTop() + head) return scrollBy(top - head - scrollTop());
  if (bottom > scrollTop() + seen) scrollBy(bottom - seen - scrollTop());
}

void View::wheelEvent(QWheelEvent* event) {
  if (farthestScroll() <= 0) return QWidget::wheelEvent(event);
  scrollBy(-event->angleDelta().y() / 2.0);
}

void View::keyPressEvent(QKeyEvent* event) {
  const int pages = event->key() == Qt::Key_PageDown ? 1 : event->key() == Qt::Key_PageUp ? -1 : 0;
  if (pages == 0 || farthestScroll() <= 0) return QWidget::keyPressEvent(event);
  scrollBy(pages * 0.8 * QWidget::height() / zoom_);
}

void View::focusInEvent(QFocusEvent* event) {
  shows_focus_ = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
  QWidget::focusInEvent(event);
  update();
}

void View::focusOutEvent(QFocusEvent* event) {
  shows_focus_ = false;
  QWidget::focusOutEvent(event);
  update();
}

}  // namespace ringscope::viz
