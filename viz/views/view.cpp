// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/view.h"

#include <QPaintEvent>

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
  refresh();
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
  paint(painter, page(), zoom_ == 1 ? event->region() : QRegion());
}

}  // namespace ringscope::viz
