// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/pass/pass_painter.h"

#include <QPainterPath>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

using traces::EventKind;

constexpr double kLabelWidth = 100, kHeader = 20;
constexpr double kLeastLane = 13, kTightLane = 20, kLeastName = 9;

struct Lanes {
  QRectF area;
  int count = 1;
  double pitch() const { return (area.height() - kHeader - 4) / count; }
  double top(GroupRank seat) const { return area.top() + kHeader + seat.value() * pitch(); }
  QRectF bar(GroupRank seat, double x0, double x1) const {
    return {x0, top(seat) + pitch() * 0.08, std::max(1.5, x1 - x0),
            pitch() * (tight() ? 0.7 : 0.5)};
  }
  double wire(GroupRank seat) const { return top(seat) + pitch() * (tight() ? 0.86 : 0.74); }
  /// Lanes so low that bars take what room there is.
  bool tight() const { return pitch() < kTightLane; }
  double gap() const { return tight() ? 1 : 4; }
};

void drawTicks(QPainter& p, const QRectF& area, const TimeScale& scale, const Theme& theme) {
  const std::int64_t tick = scale.tick(scale.ticks());
  p.setFont(monoFont(10));
  for (std::int64_t t = 0; scale.begin_ns + t <= scale.end_ns; t += tick) {
    const double x = scale.x(scale.begin_ns + t);
    const QString words = describeDuration(t).c_str();
    if (x + 3 + p.fontMetrics().horizontalAdvance(words) <= area.right()) {
      p.setPen(theme.dim);
      p.drawText(QRectF(x + 3, area.top(), 80, kHeader - 3), Qt::AlignVCenter | Qt::AlignLeft,
                 words);
    }
    p.setPen(QPen(theme.line, 1));
    p.drawLine(QPointF(x, area.top() + kHeader - 3), QPointF(x, area.bottom()));
  }
}

void drawBar(QPainter& p, const Lanes& lanes, const TimeScale& scale, const TimeFolds& pauses,
             const PassBar& what, const Theme& theme) {
  const QRectF bar = lanes.bar(what.seat, scale.x(pauses.folded(what.begin_ns)),
                               scale.x(pauses.folded(what.end_ns)));
  switch (what.kind) {
    case EventKind::kAttend:
      if (bar.width() < 4) {
        p.fillRect(bar, rankColor(what.source_rank));
        break;
      }
      paintFace(p, bar, what.source_rank,
                QString(lanes.tight() ? "%1" : "KV %1").arg(what.source_rank.value()), theme);
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
void drawFlow(QPainter& p, const Lanes& lanes, const TimeScale& scale, const TimeFolds& pauses,
              const PassFlow& flow) {
  const double width = lanes.tight() ? 1.6 : 3;
  const double x0 = scale.x(pauses.folded(flow.begin_ns)), x1 = scale.x(pauses.folded(flow.end_ns));
  const double from = lanes.wire(flow.from_seat);
  QColor color = rankColor(flow.source_rank);
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(color, width, flow.gradient ? Qt::DotLine : Qt::SolidLine, Qt::FlatCap));
  p.drawLine(QPointF(x0, from), QPointF(std::max(x0 + 2, x1), from));
  if (flow.to_seat.isNone()) return;
  const double to = lanes.top(flow.to_seat) + lanes.pitch() * 0.34;
  color.setAlpha(150);
  p.setPen(QPen(color, 1.3));
  QPainterPath curve(QPointF(x1, from));
  curve.cubicTo(QPointF(x1 + 14, from), QPointF(x1 + 4, to), QPointF(x1 + 18, to));
  p.drawPath(curve);
}

Lanes makeLanes(const QRectF& area, const PassScene& scene) {
  return {area, std::max(1, static_cast<int>(scene.lanes.size()))};
}

void drawLane(QPainter& p, const Lanes& lanes, const TimeScale& scale, GroupRank seat,
              WorldRank rank, bool selected, const Theme& theme) {
  const double height = lanes.pitch() - lanes.gap();
  p.fillRect(QRectF(scale.left, lanes.top(seat), scale.width, height), theme.background);
  // Without room for all names, only every second or fourth lane, and so on, has its name.
  int every = 1;
  while (every < lanes.count && every * lanes.pitch() < kLeastName + 1) every *= 2;
  if (seat.value() % every != 0 && !selected) return;
  const int size = std::clamp(static_cast<int>(every * lanes.pitch()) - 1, 9, 12);
  const double middle = lanes.top(seat) + height / 2;
  write(p, QRectF(lanes.area.left() + 20, middle - 9, kLabelWidth - 24, 18),
        QString("rank %1").arg(rank.value()),
        textFont(size, selected ? QFont::DemiBold : QFont::Normal),
        selected ? theme.text : theme.dim);
}

bool isEmpty(const PassScene& scene) {
  return scene.end_ns <= scene.begin_ns;
}

}  // namespace

TimeScale passScale(const QRectF& area, const PassScene& scene) {
  const double left = area.left() + kLabelWidth, width = area.width() - kLabelWidth - 24;
  if (isEmpty(scene)) return {0, 1, left, width};
  const std::int64_t begin = scene.pauses.folded(scene.begin_ns);
  return {begin, std::max(begin + 1, scene.pauses.folded(scene.end_ns)), left, width};
}

void paintPass(QPainter& p, const QRectF& area, const PassScene& scene, const Theme& theme) {
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(area, theme.panel);
  const Lanes lanes = makeLanes(area, scene);
  const TimeScale scale = passScale(area, scene);
  for (std::size_t seat = 0; seat < scene.lanes.size(); ++seat)
    drawLane(p, lanes, scale, GroupRank::of(seat), scene.lanes[seat].rank,
             scene.lanes[seat].rank == scene.selected, theme);
  if (!isEmpty(scene)) {
    drawTicks(p, area, scale, theme);
    p.setClipRect(QRectF(scale.left, area.top() + kHeader, scale.width, area.height() - kHeader));
    for (const PassBar& bar : scene.bars) drawBar(p, lanes, scale, scene.pauses, bar, theme);
    for (const PassFlow& flow : scene.flows) drawFlow(p, lanes, scale, scene.pauses, flow);
  }
  p.restore();
}

double passHeight(const PassScene& scene) {
  return kHeader + 4 + kLeastLane * static_cast<double>(scene.lanes.size());
}

QRectF instantBox(const QRectF& area, const PassScene& scene, std::int64_t instant_ns) {
  if (isEmpty(scene)) return {};
  const double x = passScale(area, scene).x(scene.pauses.folded(instant_ns));
  return {x - 2, area.top() + kHeader - 8, 4, area.height() - kHeader + 8};
}

void paintInstant(QPainter& p, const QRectF& area, const PassScene& scene, std::int64_t instant_ns,
                  const Theme& theme) {
  if (isEmpty(scene)) return;
  const QRectF box = instantBox(area, scene, instant_ns);
  p.setPen(QPen(theme.text, 2));
  p.drawLine(QPointF(box.center().x(), box.top() + 2), QPointF(box.center().x(), area.bottom()));
}

PassHit passHit(const QPointF& point, const QRectF& area, const PassScene& scene) {
  PassHit hit;
  if (isEmpty(scene)) return hit;
  const Lanes lanes = makeLanes(area, scene);
  const int seat =
      std::clamp(static_cast<int>((point.y() - lanes.top(GroupRank::of(0))) / lanes.pitch()), 0,
                 lanes.count - 1);
  const PassLane& lane = scene.lanes[static_cast<std::size_t>(seat)];
  hit.rank = lane.rank;
  hit.place = scene.pass;
  const std::int64_t at = scene.pauses.unfolded(passScale(area, scene).ns(point.x()));
  for (std::size_t step = 0; step < lane.stages.size(); ++step) {
    const StageWindow& window = lane.stages[step];
    if (!window.recorded() || (step > 0 && window.begin_ns > at)) continue;
    hit.place.stage = traces::RingStep::of(step);
    hit.phase = window.fraction(at);
  }
  return hit;
}

}  // namespace ringscope::viz
