// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/pass/pass_view.h"

#include <QMouseEvent>

#include "viz/views/pass/pass_painter.h"

namespace ringscope::viz {

TimelineStrip::TimelineStrip(Viewing& viewing, QWidget* parent)
    : View(viewing, "Timeline: a lane a rank, blocks attended, merges, waits and hops", parent) {
  setMinimumSize(0, 112);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

QSize TimelineStrip::sizeHint() const {
  return {320, static_cast<int>(passHeight(scene_) * zoom_)};
}

Cursor TimelineStrip::watched(Cursor cursor) const {
  Cursor seen;
  seen.group = cursor.group;
  seen.rank = cursor.rank;
  seen.place = cursor.place;
  seen.place.stage = RingStep::of(0);
  return seen;
}

void TimelineStrip::refresh() {
  PassScene scene = makePassScene(viewing_.session.trace(), cursor());
  // A live run brings more every frame, and rarely of the pass that is viewed.
  if (scene == scene_) return moved();
  const bool other_lanes = scene.lanes.size() != scene_.lanes.size();
  scene_ = std::move(scene);
  instant_ns_ = scene_.instantAt(cursor().place.stage, cursor().phase);
  picture_ = QPixmap();
  update();
  if (other_lanes) Q_EMIT lanesChanged();
}

void TimelineStrip::moved() {
  update(instantRect());
  instant_ns_ = scene_.instantAt(cursor().place.stage, cursor().phase);
  update(instantRect());
}

QRect TimelineStrip::instantRect() const {
  const QRectF box = instantBox(page(), scene_, instant_ns_);
  return QRectF(box.topLeft() * zoom_, box.size() * zoom_).toAlignedRect();
}

void TimelineStrip::paint(QPainter& painter, const QRectF& page, const QRegion& dirty) {
  const double ratio = devicePixelRatioF();
  if (picture_.size() != size() * ratio) {
    picture_ = QPixmap(size() * ratio);
    picture_.setDevicePixelRatio(ratio);
    QPainter once(&picture_);
    once.scale(zoom_, zoom_);
    paintPass(once, page, scene_, *theme_);
  }
  const QRectF box = dirty.isEmpty() ? page : QRectF(dirty.boundingRect());
  const double pixels = ratio * zoom_;
  painter.drawPixmap(box, picture_, QRectF(box.topLeft() * pixels, box.size() * pixels));
  paintInstant(painter, page, scene_, instant_ns_, *theme_);
}

void TimelineStrip::mousePressEvent(QMouseEvent* event) {
  scrub(event->position());
}

void TimelineStrip::mouseMoveEvent(QMouseEvent* event) {
  if (event->buttons() & Qt::LeftButton) scrub(event->position());
}

void TimelineStrip::scrub(const QPointF& point) {
  const PassHit hit = passHit(onPage(point), page(), scene_);
  if (hit.rank.isNone()) return;
  Cursor to = cursor();
  to.rank = hit.rank;
  to.place = hit.place;
  to.phase = hit.phase;
  viewing_.navigator.goTo(to);
}

}  // namespace ringscope::viz
