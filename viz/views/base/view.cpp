// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/base/view.h"

#include <QFocusEvent>
#include <QPaintEvent>

#include "viz/kit/page.h"
#include "viz/session/problem.h"

namespace ringscope::viz {

View::View(Viewing& viewing, const QString& accessible_name, QWidget* parent)
    : ScrolledPage(accessible_name.section(':', 0, 0), parent), viewing_(viewing) {
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
    scrollToTop();
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

void View::paintContent(QPainter& painter, const QRegion& dirty) {
  if (problem_.isEmpty()) return paint(painter, page(), dirty);
  painter.fillRect(page(), theme_->background);
  paintNote(painter, page(), problem_.toStdString(), *theme_);
}

void View::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(zoom_, zoom_);
  const bool whole = zoom_ != 1 || scrolls();
  followHeight();
  painter.save();
  painter.translate(0, -scrollTop());
  paintContent(painter, whole ? QRegion() : event->region());
  painter.restore();
  if (!shows_focus_) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(theme_->accent, 2));
  painter.drawRect(QRectF(QPointF(1, 1), QSizeF(size()) / zoom_ - QSizeF(2, 2)));
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
