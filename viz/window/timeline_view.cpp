// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/timeline_view.h"

#include <QMouseEvent>
#include <QPainter>

#include "viz/views/timeline_painter.h"

namespace ringscope::viz {

TimelineView::TimelineView(Hub& hub, QWidget* parent) : View(hub, parent) {
  setAccessibleName("Timeline: a lane a rank, blocks attended, merges, waits and hops");
  setMinimumHeight(112);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

bool TimelineView::passIsDrawn() const {
  Place pass = hub_.place();
  pass.stage = 0;
  return pass_.size() == size() * devicePixelRatioF() && pass == drawn_pass_ &&
         passEvents(hub_) == drawn_events_ && drawn_rank_ == hub_.selectedRank() &&
         drawn_theme_ == theme_;
}

void TimelineView::cursorMoved() {
  if (!passIsDrawn()) return update();
  update(instant_);
  instant_ = instantBox(rect(), hub_).toAlignedRect();
  update(instant_);
}

void TimelineView::refreshPass() {
  if (passIsDrawn()) return;
  Place pass = hub_.place();
  pass.stage = 0;
  const QSize pixels = size() * devicePixelRatioF();
  const std::size_t events = passEvents(hub_);
  drawn_pass_ = pass;
  drawn_events_ = events;
  drawn_rank_ = hub_.selectedRank();
  drawn_theme_ = theme_;
  pass_ = QPixmap(pixels);
  pass_.setDevicePixelRatio(devicePixelRatioF());
  QPainter painter(&pass_);
  paintTimeline(painter, rect(), hub_, *theme_);
}

void TimelineView::paintEvent(QPaintEvent* event) {
  refreshPass();
  instant_ = instantBox(rect(), hub_).toAlignedRect();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF box = event->rect();
  const double ratio = devicePixelRatioF();
  painter.drawPixmap(box, pass_, QRectF(box.topLeft() * ratio, box.size() * ratio));
  paintInstant(painter, rect(), hub_, *theme_);
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  scrub(event->position());
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) scrub(event->position());
}

void TimelineView::scrub(const QPointF& point) {
  const TimelineHit hit = timelineHit(point, rect(), hub_);
  if (hit.rank < 0) return;
  hub_.setFollowing(false);
  hub_.selectRank(hit.rank);
  hub_.setPlace(hit.place);
  hub_.setMoment(hub_.moment(), hit.phase);
}

}  // namespace ringscope::viz
