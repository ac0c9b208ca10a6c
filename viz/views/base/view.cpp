// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/base/view.h"

#include <QKeyEvent>
#include <QPaintEvent>
#include <QWheelEvent>

#include "viz/kit/page.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

View::View(Viewing& viewing, const QString& accessible_name, QWidget* parent)
    : QWidget(parent), viewing_(viewing) {
  setAccessibleName(accessible_name);
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
  update();
}

Cursor View::watched(Cursor cursor) const {
  cursor.phase = 0;
  return cursor;
}

void View::follow() {
  if (!isVisible()) return;  // showEvent() does
  const Made now{viewing_.session.version(), watched(cursor())};
  if (made_ == now) return moved();
  made_ = now;
  if (recording_ != viewing_.session.recording()) {
    recording_ = viewing_.session.recording();
    scroll_ = 0;
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
}

void View::describe(const std::string& sentence) {
  const QString words = QString::fromStdString(sentence);
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
  painter.save();
  painter.translate(0, -scrollTop());
  if (problem_.isEmpty()) {
    paint(painter, page(), whole ? QRegion() : event->region());
  } else {
    painter.fillRect(page(), theme_->background);
    paintNote(painter, page(), problem_.toStdString(), *theme_);
  }
  painter.restore();
  paintScrollBar(painter);
  if (!shows_focus_) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_->accent, 2));
  painter.drawRect(QRectF(QPointF(1, 1), QSizeF(size()) / zoom_ - QSizeF(2, 2)));
}

void View::paintScrollBar(QPainter& painter) const {
  if (farthestScroll() <= 0) return;
  const QSizeF seen = QSizeF(size()) / zoom_;
  const double share = seen.height() / page().height();
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme_->dim);
  painter.drawRoundedRect(
      QRectF(seen.width() - 8, scrollTop() * share + 2, 5, seen.height() * share - 4), 2.5, 2.5);
}

void View::scrollBy(double by) {
  scroll_ = std::clamp(scrollTop() + by, 0.0, farthestScroll());
  update();
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
