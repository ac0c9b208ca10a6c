// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/timeline_view.h"

#include <QMouseEvent>
#include <QPainter>

#include "viz/views/timeline_painter.h"

namespace ringscope::viz {

TimelineView::TimelineView(Hub& hub, QWidget* parent) : View(hub, parent) {
  setAccessibleName("Timeline: a lane a rank, blocks attended, merges, waits and hops");
  setMinimumHeight(112);
}

void TimelineView::refreshPass() {
  Place pass = hub_.place();
  pass.stage = 0;
  const QSize pixels = size() * devicePixelRatioF();
  const std::size_t events = passEvents(hub_);
  if (pass_.size() == pixels && pass == drawn_pass_ && events == drawn_events_ &&
      drawn_rank_ == hub_.selectedRank() && drawn_theme_ == theme_)
    return;
  drawn_pass_ = pass;
  drawn_events_ = events;
  drawn_rank_ = hub_.selectedRank();
  drawn_theme_ = theme_;
  pass_ = QPixmap(pixels);
  pass_.setDevicePixelRatio(devicePixelRatioF());
  QPainter painter(&pass_);
  paintTimeline(painter, rect(), hub_, *theme_);
}

void TimelineView::paintEvent(QPaintEvent*) {
  refreshPass();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.drawPixmap(0, 0, pass_);
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
