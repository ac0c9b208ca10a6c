// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/timeline_painter.h"

#include <QPainterPath>

#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

using traces::Event;
using traces::EventKind;

constexpr double kLabelWidth = 100, kHeader = 20;

struct Lanes {
  QRectF area;
  int ranks = 1;
  double pitch() const { return (area.height() - kHeader - 4) / ranks; }
  double top(int rank) const { return area.top() + kHeader + rank * pitch(); }
  QRectF bar(int rank, double x0, double x1) const {
    return {x0, top(rank) + pitch() * 0.08, std::max(1.5, x1 - x0), pitch() * 0.5};
  }
  double wire(int rank) const { return top(rank) + pitch() * 0.74; }
};

/// Calls `use` for every event of the viewed pass.
template <typename Use>
void forPass(const Hub& hub, Use use) {
  Place place = hub.place();
  const int steps = hub.scene().ring_steps;
  for (place.stage = 0; place.stage < steps; ++place.stage)
    for (int rank = 0; rank < hub.trace().worldSize(); ++rank)
      for (const std::size_t i : hub.index().eventsOf(place, rank))
        use(hub.trace().events(rank)[i]);
}

void drawTicks(QPainter& p, const QRectF& area, const TimeScale& scale, const Theme& theme) {
  const std::int64_t tick = scale.tick(std::max(2, static_cast<int>(scale.width / 90)));
  p.setFont(monoFont(10));
  for (std::int64_t t = 0; scale.begin_ns + t <= scale.end_ns; t += tick) {
    const double x = scale.x(scale.begin_ns + t);
    p.setPen(theme.dim);
    p.drawText(QRectF(x + 3, area.top(), 80, kHeader - 3), Qt::AlignVCenter | Qt::AlignLeft,
               describeDuration(t).c_str());
    p.setPen(QPen(theme.line, 1));
    p.drawLine(QPointF(x, area.top() + kHeader - 3), QPointF(x, area.bottom()));
  }
}

void drawEvent(QPainter& p, const Lanes& lanes, const TimeScale& scale, const Event& event,
               const Theme& theme) {
  const QRectF bar = lanes.bar(event.rank, scale.x(event.begin_ns), scale.x(event.end_ns));
  switch (event.kind) {
    case EventKind::kAttend:
      if (bar.width() < 4) {
        p.fillRect(bar, rankColor(event.source_rank));
        break;
      }
      paintFace(p, bar, event.source_rank, QString("KV %1").arg(event.source_rank), theme);
      break;
    case EventKind::kMerge:
      p.setPen(Qt::NoPen);
      p.setBrush(theme.right);
      p.drawRect(bar);
      break;
    case EventKind::kWait:
      if (bar.width() < 2) break;
      p.setPen(QPen(theme.wait, 1));
      p.setBrush(QBrush(theme.wait, Qt::BDiagPattern));
      p.drawRect(bar);
      break;
    case EventKind::kPause:
      p.setPen(QPen(theme.dim, 1, Qt::DotLine));
      p.setBrush(Qt::NoBrush);
      p.drawRect(bar);
      break;
    default:
      break;
  }
}

/// A message: a thin bar under the sender's lane while it is under way, and a curve to the
/// receiver.
void drawFlow(QPainter& p, const Lanes& lanes, const TimeScale& scale, const Event& send) {
  const double x0 = scale.x(send.begin_ns), x1 = scale.x(send.end_ns);
  const double from = lanes.wire(send.rank), to = lanes.top(send.peer) + lanes.pitch() * 0.34;
  QColor color = rankColor(send.source_rank);
  const bool gradient = send.payload == traces::Payload::kDkv;
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(color, 3, gradient ? Qt::DotLine : Qt::SolidLine, Qt::FlatCap));
  p.drawLine(QPointF(x0, from), QPointF(std::max(x0 + 2, x1), from));
  color.setAlpha(150);
  p.setPen(QPen(color, 1.3));
  QPainterPath curve(QPointF(x1, from));
  curve.cubicTo(QPointF(x1 + 14, from), QPointF(x1 + 4, to), QPointF(x1 + 18, to));
  p.drawPath(curve);
}

}  // namespace

TimeScale passScale(const Hub& hub, double left, double width) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = 0;
  forPass(hub, [&](const Event& event) {
    begin = std::min(begin, event.begin_ns);
    end = std::max(end, event.end_ns);
  });
  return end > begin ? TimeScale{begin, end, left, width} : TimeScale{0, 1, left, width};
}

std::size_t passEvents(const Hub& hub) {
  std::size_t count = 0;
  forPass(hub, [&](const Event&) { ++count; });
  return count;
}

void paintTimeline(QPainter& p, const QRectF& area, const Hub& hub, const Theme& theme) {
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(area, theme.panel);
  const int ranks = std::max(1, hub.trace().worldSize());
  const Lanes lanes{area, ranks};
  const TimeScale scale =
      passScale(hub, area.left() + kLabelWidth, area.width() - kLabelWidth - 24);
  for (int rank = 0; rank < ranks; ++rank) {
    p.fillRect(QRectF(scale.left, lanes.top(rank), scale.width, lanes.pitch() - 4),
               theme.background);
    p.setPen(rank == hub.selectedRank() ? theme.text : theme.dim);
    p.setFont(textFont(12, rank == hub.selectedRank() ? QFont::DemiBold : QFont::Normal));
    if (lanes.pitch() >= 12)
      p.drawText(QRectF(area.left() + 20, lanes.top(rank), kLabelWidth - 24, lanes.pitch() - 4),
                 Qt::AlignVCenter, QString("rank %1").arg(rank));
  }
  if (!hub.empty()) {
    drawTicks(p, area, scale, theme);
    p.setClipRect(QRectF(scale.left, area.top() + kHeader, scale.width, area.height() - kHeader));
    forPass(hub, [&](const Event& event) { drawEvent(p, lanes, scale, event, theme); });
    forPass(hub, [&](const Event& event) {
      if (event.kind == EventKind::kSend) drawFlow(p, lanes, scale, event);
    });
  }
  p.restore();
}

QRectF instantBox(const QRectF& area, const Hub& hub) {
  if (hub.empty()) return {};
  const double x =
      passScale(hub, area.left() + kLabelWidth, area.width() - kLabelWidth - 24).x(hub.instant());
  return {x - 2, area.top() + kHeader - 8, 4, area.height() - kHeader + 8};
}

void paintInstant(QPainter& p, const QRectF& area, const Hub& hub, const Theme& theme) {
  if (hub.empty()) return;
  const QRectF box = instantBox(area, hub);
  p.setPen(QPen(theme.text, 2));
  p.drawLine(QPointF(box.center().x(), box.top() + 2), QPointF(box.center().x(), area.bottom()));
}

TimelineHit timelineHit(const QPointF& point, const QRectF& area, const Hub& hub) {
  TimelineHit hit;
  if (hub.empty()) return hit;
  const Lanes lanes{area, std::max(1, hub.trace().worldSize())};
  const TimeScale scale =
      passScale(hub, area.left() + kLabelWidth, area.width() - kLabelWidth - 24);
  hit.rank =
      std::clamp(static_cast<int>((point.y() - lanes.top(0)) / lanes.pitch()), 0, lanes.ranks - 1);
  const std::int64_t at = scale.ns(point.x());
  Place place = hub.place();
  for (place.stage = 0; place.stage < hub.scene().ring_steps; ++place.stage) {
    const auto [begin, end] = stageWindow(hub.trace(), hub.index(), place, hit.rank);
    if (end == 0 || (place.stage > 0 && begin > at)) continue;
    hit.place = place;
    hit.phase = std::clamp(static_cast<double>(at - begin) /
                               static_cast<double>(std::max<std::int64_t>(1, end - begin)),
                           0.0, 1.0);
  }
  return hit;
}

}  // namespace ringscope::viz
