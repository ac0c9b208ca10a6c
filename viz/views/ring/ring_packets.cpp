// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/ring/ring_packets.h"

#include <algorithm>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

/// The letters of a packet's words, in pixels: small cards do not make them unreadable.
int letters(const RingCanvas& c) {
  return std::max(11, c.font(12));
}

double eased(double t) {
  return t * t * (3 - 2 * t);
}

QString longText(const MovingPacket& packet) {
  const char* what = packet.payload == traces::Payload::kDkv     ? "dKV %1"
                     : packet.payload == traces::Payload::kHeads ? "heads %1"
                                                                 : "KV %1";
  return QString(what).arg(packet.source_rank.value());
}

/// The widths with room for little more than the number, as on the cards of a gather.
QString shortText(const MovingPacket& packet) {
  const char* what = packet.payload == traces::Payload::kDkv     ? "d%1"
                     : packet.payload == traces::Payload::kHeads ? "h%1"
                                                                 : "%1";
  return QString(what).arg(packet.source_rank.value());
}

/// The seats between which a packet travels, and how far the receiver is from the sender: in seats
/// clockwise, the shorter way round.
struct Way {
  GroupRank from, to;
  int distance = 0;
};

std::optional<Way> findWay(const RingCanvas& c, const MovingPacket& packet) {
  Way way{c.scene.rankSeat(packet.from), c.scene.rankSeat(packet.to), 0};
  if (way.from.isNone() || way.to.isNone()) return std::nullopt;
  const auto seats = static_cast<int>(c.scene.ranks.size());
  way.distance = (way.to.value() - way.from.value() + seats) % seats;
  if (2 * way.distance > seats) way.distance -= seats;
  return way;
}

/// From `from` to `to`, in ranks, by `point`: the place at `t` and the trail behind it.
template <typename Point>
QPointF travel(double from, double to, double t, Point point, QPainterPath& trail) {
  constexpr double kTrail = 0.16;
  constexpr int kBends = 5;
  const double at = from + (to - from) * t;
  const double length = std::min(kTrail * std::max(1.0, std::abs(to - from)), std::abs(at - from));
  const double tail = at - (to > from ? length : -length);
  trail.moveTo(point(tail));
  for (int i = 1; i <= kBends; ++i) trail.lineTo(point(tail + (at - tail) * i / kBends));
  return point(at);
}

/// To a neighbour, along the track, from card's edge to card's edge.
QPointF alongTrack(const RingCanvas& c, const Way& way, double t, double inward, const QSizeF& size,
                   QPainterPath& trail) {
  const int distance = way.distance;
  const double from = way.from.value() + distance * c.layout.edge(way.from, distance, size, inward);
  const double to =
      way.from.value() + distance - distance * c.layout.edge(way.to, -distance, size, inward);
  return travel(
      from, to, t, [&](double at) { return c.layout.point(at, inward); }, trail);
}

/// Without its label.
std::optional<PacketShape> bareShape(const RingCanvas& c, const MovingPacket& packet) {
  const auto way = findWay(c, packet);
  if (!way) return std::nullopt;
  const RankScene& sender = c.scene.ranks[way->from.index()];
  const double phase = rankPhase(c.scene, sender, c.phase);
  if (phase < packet.begin || phase > packet.end) return std::nullopt;
  const double t = eased((phase - packet.begin) / (packet.end - packet.begin));
  const bool gradient = packet.payload == traces::Payload::kDkv;
  const bool to_neighbour =
      std::abs(way->distance) == 1 && packet.payload != traces::Payload::kHeads;
  const QSizeF size = !to_neighbour ? c.laneFace() : gradient ? c.gradientFace() : c.trackFace();
  PacketShape shape;
  shape.name = to_neighbour && !c.crowded() ? longText(packet) : shortText(packet);
  shape.stroke = c.s(6);
  QPointF center;
  if (to_neighbour && !c.crowded() && !(gradient && c.compact())) {
    center = alongTrack(c, *way, t, gradient ? c.s(46) : 0, size, shape.trail);
  } else {
    const RingLane lane = gradient && to_neighbour ? c.gradientLane() : c.lane();
    center = travel(
        way->from.value(), way->from.value() + way->distance, t,
        [&](double at) { return lane.point(c.layout.angle(at)); }, shape.trail);
  }
  shape.face = QRectF(center - QPointF(size.width() / 2, size.height() / 2), size);
  return shape;
}

/// Faces that travel between the same two ranks, its own among them.
std::vector<QRectF> facesBetween(const RingCanvas& c, const Way& way) {
  std::vector<QRectF> faces;
  for (const MovingPacket& other : c.scene.packets) {
    const auto theirs = findWay(c, other);
    const bool same = theirs && ((theirs->from == way.from && theirs->to == way.to) ||
                                 (theirs->from == way.to && theirs->to == way.from));
    if (!same) continue;
    if (const auto shape = bareShape(c, other)) faces.push_back(shape->face);
  }
  return faces;
}

/// Reports whether a packet's label lies below the packet, on its whole way. The label of dK and dV
/// lies towards the middle of the ring. The label of KV lies on the other side in backward. In
/// forward it lies in front of a packet that moves up or down, so that the trail crosses no letter.
bool saysBelow(const RingCanvas& c, const Way& way, bool gradient) {
  const bool upper =
      c.layout.point(way.from.value() + way.distance / 2.0).y() < c.layout.center().y();
  if (gradient) return upper;
  if (c.scene.place.direction == traces::Direction::kBackward) return !upper;
  return c.layout.point(way.to.value()).y() > c.layout.point(way.from.value()).y() - 1;
}

/// The trail, as wide as it is drawn.
QPainterPath strokeOf(const PacketShape& shape) {
  QPainterPathStroker stroker;
  stroker.setWidth(shape.stroke);
  stroker.setCapStyle(Qt::FlatCap);
  return stroker.createStroke(shape.trail);
}

/// Places the label with source, target and bytes beside the packet. Tries the other sides when the
/// label would lie on a card, a packet or the trail, and leaves it out when no side has room.
void placeLabel(const RingCanvas& c, const MovingPacket& packet, const Way& way,
                PacketShape& shape) {
  const bool gradient = packet.payload == traces::Payload::kDkv;
  const bool below = saysBelow(c, way, gradient);
  shape.words =
      QString("%1 → %2 · %3%4")
          .arg(packet.from.value())
          .arg(packet.to.value())
          .arg(describeBytes(packet.bytes).c_str(), packet.stretched ? " · not to scale" : "");
  const QSizeF size(QFontMetricsF(textFont(letters(c))).horizontalAdvance(shape.words) + c.s(8),
                    std::max(c.s(18), 1.3 * letters(c)));
  const QRectF& face = shape.face;
  const QPointF middle = face.center();
  const double gap = c.s(gradient ? 5 : 3);
  const double left = middle.x() - size.width() / 2, level = middle.y() - size.height() / 2;
  const QPointF under(left, face.bottom() + gap), over(left, face.top() - gap - size.height());
  std::vector<QRectF> taken = facesBetween(c, way);
  for (const GroupRank seat : {way.from, way.to}) {
    taken.push_back(c.layout.card(seat));
    if (taken.back().intersects(face)) return;
  }
  const QPainterPath trail = strokeOf(shape);
  for (const QPointF& at :
       {below ? under : over, below ? over : under, QPointF(face.right() + gap, level),
        QPointF(face.left() - gap - size.width(), level)}) {
    const QRectF label(at, size);
    if (std::ranges::any_of(taken, [&](const QRectF& box) { return box.intersects(label); }))
      continue;
    if (trail.intersects(label)) continue;
    shape.label = label;
    return;
  }
}

}  // namespace

QRegion PacketShape::region() const {
  const auto touched = [](const QRectF& box, double by) {
    return box.adjusted(-by, -by, by, by).toAlignedRect();
  };
  constexpr double kFrame = 3;
  QRegion region = touched(face.united(label), kFrame);
  for (int i = 1; i < trail.elementCount(); ++i)
    region +=
        touched(QRectF(trail.elementAt(i - 1), trail.elementAt(i)).normalized(), stroke / 2 + 1);
  return region;
}

std::optional<PacketShape> packetShape(const RingCanvas& c, const MovingPacket& packet) {
  auto shape = bareShape(c, packet);
  if (!shape || c.compact()) return shape;
  const auto way = findWay(c, packet);
  if (std::abs(way->distance) == 1 && packet.payload != traces::Payload::kHeads)
    placeLabel(c, packet, *way, *shape);
  return shape;
}

void drawPacket(const RingCanvas& c, const MovingPacket& packet) {
  const auto shape = packetShape(c, packet);
  if (!shape || !c.touches(shape->region())) return;
  const bool gradient = packet.payload == traces::Payload::kDkv;
  c.p.setBrush(Qt::NoBrush);
  c.p.setPen(QPen(faded(rankColor(packet.source_rank), 150), shape->stroke,
                  gradient ? Qt::DotLine : Qt::SolidLine, Qt::FlatCap));
  c.p.drawPath(shape->trail);
  paintMovingFace(c.p, shape->face, packet.source_rank, shape->name, c.theme);
  if (gradient) {
    c.p.setPen(QPen(c.theme.text, std::max(1.0, c.s(1.5)), Qt::DashLine));
    c.p.setBrush(Qt::NoBrush);
    c.p.drawRoundedRect(shape->face.adjusted(-2, -2, 2, 2), c.s(7), c.s(7));
  }
  if (shape->label.isEmpty()) return;
  write(c.p, shape->label, shape->words, textFont(letters(c)), c.theme.dim, Qt::AlignCenter);
}

}  // namespace ringscope::viz
