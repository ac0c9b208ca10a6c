// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/ring_painter.h"

#include <QPainterPath>
#include <cmath>
#include <optional>

#include "viz/maths/ring_layout.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

/// Everything that the parts of the drawing need.
struct Canvas {
  QPainter& p;
  const RingLayout& layout;
  const RingScene& scene;
  const Hub& hub;
  const Theme& theme;
  QRegion dirty;  ///< what has to be drawn again; empty: all

  bool touches(const QRectF& box) const {
    return dirty.isEmpty() || dirty.intersects(box.toAlignedRect());
  }
  /// Cards are too small for more than who, what it holds, and whether it waits.
  bool compact() const { return scene.ranks.size() > 8 || layout.scale() < 0.6; }
  double s(double px) const { return px * layout.scale(); }
  int font(double px) const { return std::max(8, static_cast<int>(std::lround(s(px)))); }
};

double eased(double t) {
  return t * t * (3 - 2 * t);
}

QColor faded(QColor color, int alpha) {
  color.setAlpha(alpha);
  return color;
}

QRectF cardBounds(const Canvas& c, int rank) {
  return c.layout.card(rank).adjusted(-3, -3, 3, 3);
}

/// Only the stretches that are dirty: an ellipse as large as a screen is slow to draw.
void drawTrack(const Canvas& c) {
  constexpr int kPointsARank = 24;
  c.p.setPen(QPen(c.theme.line, c.s(1.5)));
  c.p.setBrush(Qt::NoBrush);
  for (std::size_t rank = 0; rank < c.scene.ranks.size(); ++rank) {
    QPolygonF stretch;
    for (int i = 0; i <= kPointsARank; ++i)
      stretch << c.layout.point(static_cast<double>(rank) + static_cast<double>(i) / kPointsARank);
    if (c.touches(stretch.boundingRect())) c.p.drawPolyline(stretch);
  }
}

/// One attended cell of the small coverage matrix: a square, or its causal half; outlined while it
/// is being attended. Small cells are plain rectangles: there are a thousand of them in a ring of
/// 16 ranks.
void drawCell(const Canvas& c, const QRectF& cell, const CoverageCell& what) {
  const bool fine = cell.width() >= 6;
  const QBrush brush = what.now && fine
                           ? rankBrush(what.source_rank)
                           : QBrush(faded(rankColor(what.source_rank), what.now ? 255 : 170));
  if (what.diagonal && fine) {
    c.p.setPen(Qt::NoPen);
    c.p.setBrush(brush);
    c.p.drawPolygon(QPolygonF{cell.topLeft(), cell.bottomLeft(), cell.bottomRight()});
    return;
  }
  c.p.fillRect(cell, brush);
  if (!what.now || !fine) return;
  c.p.setBrush(Qt::NoBrush);
  c.p.setPen(QPen(c.theme.text, std::max(1.0, c.s(1.4))));
  c.p.drawRect(cell);
}

void drawMatrix(const Canvas& c, const QRectF& box, const RankScene& rank) {
  const int n = c.scene.chunk_count;
  if (n == 0 || box.width() < 24) return;
  const double pitch = box.width() / n, size = pitch * 0.84;
  auto cell = [&](int q, int k) {
    return QRectF(box.left() + k * pitch, box.top() + q * pitch, size, size);
  };
  // The ground is one rectangle a row, cut into cells by lines of the card's colour.
  for (int q = 0; q < n; ++q) {
    const bool own = std::find(rank.chunks.begin(), rank.chunks.end(), q) != rank.chunks.end();
    c.p.fillRect(QRectF(box.left(), box.top() + q * pitch, box.width() - pitch + size, size),
                 own ? c.theme.line : c.theme.raised);
  }
  for (int k = 1; k < n; ++k)
    c.p.fillRect(
        QRectF(box.left() + k * pitch - (pitch - size), box.top(), pitch - size, box.height()),
        c.theme.panel);
  for (const CoverageCell& what : rank.cells)
    drawCell(c, cell(what.query_chunk, what.key_chunk), what);
}

/// What the rank is doing now, in words and a colour that repeats them.
std::pair<QString, QColor> activity(const Canvas& c, const RankScene& rank) {
  const double phase = c.hub.phaseOf(rank);
  if (rank.wait_ns > 0 && phase >= rank.wait_begin && phase < 1)
    return {QString("waits for rank %1 · %2")
                .arg(rank.waits_for)
                .arg(describeDuration(rank.wait_ns).c_str()),
            c.theme.wait};
  if (rank.queries == 0) return {"passes it on · all in the future", c.theme.dim};
  if (std::isfinite(rank.lse_after) && std::isfinite(rank.lse_before))
    return {QString("attending · lse %1 → %2")
                .arg(rank.lse_before, 0, 'f', 2)
                .arg(rank.lse_after, 0, 'f', 2),
            c.theme.right};
  if (std::isfinite(rank.lse_after))
    return {QString("attending · lse %1").arg(rank.lse_after, 0, 'f', 2), c.theme.right};
  return {QString("attending · %1").arg(describeDuration(rank.attend_ns).c_str()), c.theme.right};
}

QString ownedText(const RankScene& rank) {
  if (rank.chunks.empty()) return "chunks not recorded";
  return QString(rank.chunks.size() > 1 ? "chunks %1" : "chunk %1")
      .arg(QString::fromStdString(listedChunks(rank.chunks)));
}

/// The card itself, with the rank's own colour and pattern down its left side.
void drawCardGround(const Canvas& c, const QRectF& card, int rank) {
  const bool selected = rank == c.hub.selectedRank();
  c.p.setPen(QPen(selected ? c.theme.accent : c.theme.line, selected ? std::max(1.5, c.s(2)) : 1));
  c.p.setBrush(c.theme.panel);
  c.p.drawRoundedRect(card, c.s(8), c.s(8));
  QPainterPath clip;
  clip.addRoundedRect(card, c.s(8), c.s(8));
  c.p.save();
  c.p.setClipPath(clip);
  c.p.setBrushOrigin(card.topLeft());
  c.p.fillRect(QRectF(card.left(), card.top(), std::max(3.0, c.s(6)), card.height()),
               rankBrush(rank));
  c.p.restore();
}

void drawCompactCard(const Canvas& c, const RankScene& rank) {
  const QRectF card = c.layout.card(rank.rank);
  drawCardGround(c, card, rank.rank);
  const QRectF inside = card.adjusted(c.s(24), c.s(8), -c.s(16), -c.s(8));
  c.p.setPen(c.theme.text);
  c.p.setFont(textFont(c.font(34), QFont::DemiBold));
  c.p.drawText(QRectF(inside.topLeft(), QSizeF(inside.width() * 0.4, inside.height() * 0.5)),
               Qt::AlignVCenter | Qt::AlignLeft, QString::number(rank.rank));
  if (rank.held_source >= 0)
    paintFace(c.p,
              QRectF(inside.left() + inside.width() * 0.36, inside.top() + c.s(2),
                     inside.width() * 0.64, c.s(62)),
              rank.held_source, QString("KV %1").arg(rank.held_source), c.theme);
  const auto [words, color] = activity(c, rank);
  c.p.setPen(color);
  c.p.setFont(textFont(c.font(28), QFont::Medium));
  c.p.drawText(QRectF(inside.left(), inside.center().y() + c.s(6), inside.width(),
                      inside.height() / 2 - c.s(6)),
               Qt::AlignVCenter | Qt::AlignLeft, words.section(' ', 0, 0));
}

/// All blocks that lie here at once, side by side.
void drawGathered(const Canvas& c, const QRectF& box, const RankScene& rank) {
  const double width = box.width() / static_cast<double>(rank.sources.size());
  double x = box.left();
  for (const int source : rank.sources) {
    paintFace(c.p, QRectF(x, box.top(), width - c.s(2), box.height()), source,
              QString::number(source), c.theme);
    x += width;
  }
}

/// "held"; or, where the sequence has been turned into heads, which part of them this rank has.
QString heldText(const Canvas& c, const RankScene& rank) {
  const int shared = c.scene.heads_shared_by;
  if (shared == 1) return "held";
  return QString("heads %1/%2").arg(rank.rank % shared + 1).arg(shared);
}

void drawCard(const Canvas& c, const RankScene& rank) {
  const QRectF card = c.layout.card(rank.rank);
  drawCardGround(c, card, rank.rank);
  const double left = card.left() + c.s(20);
  auto line = [&](double top, double height) {
    return QRectF(left, card.top() + c.s(top), card.width() - c.s(30), c.s(height));
  };
  auto say = [&](const QRectF& where, const QString& words, const QColor& color, QFont font) {
    c.p.setPen(color);
    c.p.setFont(font);
    c.p.drawText(where, Qt::AlignVCenter | Qt::AlignLeft, words);
  };
  const QFont small = textFont(c.font(12));
  say(line(12, 22), QString("rank %1").arg(rank.rank), c.theme.text,
      textFont(c.font(16), QFont::DemiBold));
  say(line(34, 18), ownedText(rank), c.theme.dim, small);
  const QRectF face(left, card.top() + c.s(59), c.s(76), c.s(28));
  if (rank.sources.size() > 1) {
    drawGathered(c, QRectF(left, face.top(), c.s(150), face.height()), rank);
  } else if (rank.held_source >= 0) {
    paintFace(c.p, face, rank.held_source, QString("KV %1").arg(rank.held_source), c.theme);
    say(QRectF(face.right() + c.s(8), face.top(), c.s(72), face.height()), heldText(c, rank),
        c.theme.dim, small);
  } else {
    say(line(59, 28), "not recorded here", c.theme.dim, small);
  }
  say(line(97, 18), QString::fromStdString(rank.attending), c.theme.text, small);
  const auto [words, color] = activity(c, rank);
  say(line(118, 18), words, color, textFont(c.font(12), QFont::Medium));
  drawMatrix(c, QRectF(card.right() - c.s(120), card.top() + c.s(18), c.s(104), c.s(104)), rank);
}

/// Where a packet is drawn at the viewed moment.
struct PacketShape {
  QPainterPath trail;
  QRectF face, label;
  QString words;
  bool gradient = false;

  QRectF bounds() const {
    return trail.boundingRect().united(face).united(label).adjusted(-6, -6, 6, 6);
  }
};

/// The label under a packet; left out where it would lie on a card.
void placeLabel(const Canvas& c, const MovingPacket& packet, PacketShape& shape) {
  if (c.compact()) return;
  shape.words =
      QString("%1 → %2 · %3%4")
          .arg(packet.from)
          .arg(packet.to)
          .arg(describeBytes(packet.bytes).c_str(), packet.stretched ? " · not to scale" : "");
  const double width = QFontMetricsF(textFont(c.font(12))).horizontalAdvance(shape.words) + c.s(8);
  const QRectF label(shape.face.center().x() - width / 2, shape.face.bottom() + c.s(3), width,
                     c.s(18));
  for (const int rank : {packet.from, packet.to})
    if (c.layout.card(rank).intersects(shape.face) || c.layout.card(rank).intersects(label)) return;
  shape.label = label;
}

/// To a neighbour, along the track.
QPointF alongRing(const Canvas& c, const MovingPacket& packet, int distance, double t,
                  double inward, const QSizeF& size, QPainterPath& trail) {
  const int direction = distance >= 0 ? 1 : -1;
  const double from = packet.from + direction * c.layout.edge(packet.from, direction, size, inward);
  const double to =
      packet.from + distance - direction * c.layout.edge(packet.to, -direction, size, inward);
  const double at = from + (to - from) * t;
  const double tail = at - direction * std::min(0.16, std::abs(at - from));
  trail.moveTo(c.layout.point(tail, inward));
  constexpr int kBends = 5;
  for (int i = 1; i <= kBends; ++i)
    trail.lineTo(c.layout.point(tail + (at - tail) * i / kBends, inward));
  return c.layout.point(at, inward);
}

/// To any rank at once, as gathers and all-to-alls do: straight across.
QPointF acrossRing(const Canvas& c, const MovingPacket& packet, double t, QPainterPath& trail) {
  const QPointF from = c.layout.card(packet.from).center(), to = c.layout.card(packet.to).center();
  auto point = [&](double share) { return from + (to - from) * (0.22 + 0.56 * share); };
  trail.moveTo(point(std::max(0.0, t - 0.14)));
  trail.lineTo(point(t));
  return point(t);
}

/// Nothing while the packet is not under way.
std::optional<PacketShape> shapeOf(const Canvas& c, const MovingPacket& packet) {
  const auto sender = std::find_if(c.scene.ranks.begin(), c.scene.ranks.end(),
                                   [&](auto& r) { return r.rank == packet.from; });
  if (sender == c.scene.ranks.end()) return std::nullopt;
  const double phase = c.hub.phaseOf(*sender);
  if (phase < packet.begin || phase > packet.end) return std::nullopt;
  const double t = eased((phase - packet.begin) / (packet.end - packet.begin));
  const auto ranks = static_cast<int>(c.scene.ranks.size());
  int distance = packet.to - packet.from;
  if (distance > ranks / 2.0) distance -= ranks;
  if (distance < -ranks / 2.0) distance += ranks;
  PacketShape shape;
  shape.gradient = packet.payload == traces::Payload::kDkv;
  const double inward = shape.gradient ? c.s(46) : 0;
  const double large = c.compact() ? 1.7 : 1;
  const QSizeF size(c.s(shape.gradient ? 84 : 76) * large, c.s(28) * large);
  const QPointF center = std::abs(distance) == 1 && packet.payload != traces::Payload::kHeads
                             ? alongRing(c, packet, distance, t, inward, size, shape.trail)
                             : acrossRing(c, packet, t, shape.trail);
  shape.face = QRectF(center - QPointF(size.width() / 2, size.height() / 2), size);
  placeLabel(c, packet, shape);
  return shape;
}

QString packetText(const MovingPacket& packet) {
  const char* what = packet.payload == traces::Payload::kDkv     ? "dKV %1"
                     : packet.payload == traces::Payload::kHeads ? "heads %1"
                                                                 : "KV %1";
  return QString(what).arg(packet.source_rank);
}

void drawPacket(const Canvas& c, const MovingPacket& packet) {
  const auto shape = shapeOf(c, packet);
  if (!shape || !c.touches(shape->bounds())) return;
  c.p.setBrush(Qt::NoBrush);
  c.p.setPen(QPen(faded(rankColor(packet.source_rank), 150), c.s(6),
                  shape->gradient ? Qt::DotLine : Qt::SolidLine, Qt::FlatCap));
  c.p.drawPath(shape->trail);
  paintMovingFace(c.p, shape->face, packet.source_rank, packetText(packet), c.theme);
  if (shape->gradient) {
    c.p.setPen(QPen(c.theme.text, std::max(1.0, c.s(1.5)), Qt::DashLine));
    c.p.setBrush(Qt::NoBrush);
    c.p.drawRoundedRect(shape->face.adjusted(-2, -2, 2, 2), c.s(7), c.s(7));
  }
  if (shape->label.isEmpty()) return;
  c.p.setFont(textFont(c.font(12)));
  c.p.setPen(c.theme.dim);
  c.p.drawText(shape->label, Qt::AlignCenter, shape->words);
}

/// Cards get smaller with more ranks; the words in the middle do not.
double centerZoom(const Canvas& c) {
  return c.compact()                ? std::min(2.6, 0.95 / c.layout.scale())
         : c.scene.ranks.size() > 4 ? 1.4
                                    : 1.0;
}

/// The words in the middle; with one rank, whose card stands there, under it.
QRectF centerBox(const Canvas& c) {
  const double zoom = centerZoom(c);
  // Between the cards at the left and at the right.
  const double room = c.scene.ranks.size() < 3
                          ? c.s(400 * zoom)
                          : 2 * c.layout.radius().x() - c.layout.cardSize().width() - c.s(24);
  const double width = std::min(c.s(400 * zoom), room);
  const QPointF center = c.layout.center();
  const double top =
      c.scene.ranks.size() == 1 ? c.layout.card(0).bottom() + c.s(12) : center.y() - c.s(50) * zoom;
  return {center.x() - width / 2, top, width, c.s(126) * zoom};
}

void drawCenter(const Canvas& c) {
  const double zoom = centerZoom(c);
  const QRectF box = centerBox(c);
  if (!c.touches(box)) return;
  auto row = [&](double y, double height) {
    return QRectF(box.left(), box.top() + c.s(y) * zoom, box.width(), c.s(height) * zoom);
  };
  c.p.setPen(c.theme.text);
  c.p.setFont(textFont(c.font(22 * zoom), QFont::DemiBold));
  c.p.drawText(row(0, 30), Qt::AlignCenter,
               QString("ring step %1 of %2").arg(c.scene.place.stage).arg(c.scene.ring_steps));
  c.p.setPen(c.theme.dim);
  c.p.setFont(textFont(c.font(14 * zoom)));
  c.p.drawText(row(31, 22), Qt::AlignCenter,
               QString("%1 · layer %2 · step %3")
                   .arg(traces::name(c.scene.place.direction))
                   .arg(c.scene.place.layer)
                   .arg(c.scene.place.train_step));
  c.p.setPen(c.theme.text);
  c.p.setFont(textFont(c.font(15 * zoom)));
  c.p.drawText(row(60, 66), Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap,
               QString::fromStdString(c.scene.sentence));
}

void drawEmpty(QPainter& p, const QRectF& area, const Hub& hub, const Theme& theme) {
  p.setPen(theme.dim);
  p.setFont(textFont(15));
  p.drawText(area, Qt::AlignCenter,
             hub.live() ? "The run is starting; its first ring step appears here."
                        : "No ring step is recorded. Start a run, or open a trace.");
}

}  // namespace

void paintRing(QPainter& painter, const QRectF& area, const Hub& hub, const Theme& theme,
               const QRegion& dirty) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, theme.background);
  const RingScene& scene = hub.scene();
  if (scene.ranks.empty()) {
    drawEmpty(painter, area, hub, theme);
  } else {
    const RingLayout layout(area, static_cast<int>(scene.ranks.size()));
    const Canvas canvas{painter, layout, scene, hub, theme, dirty};
    if (scene.ranks.size() > 1) drawTrack(canvas);
    for (const RankScene& rank : scene.ranks)
      if (canvas.touches(cardBounds(canvas, rank.rank)))
        canvas.compact() ? drawCompactCard(canvas, rank) : drawCard(canvas, rank);
    drawCenter(canvas);
    for (const MovingPacket& packet : scene.packets) drawPacket(canvas, packet);
  }
  painter.restore();
}

QRegion RingDamage::update(const QRectF& area, const Hub& hub, const Theme& theme) {
  const RingScene& scene = hub.scene();
  QPainter none;
  const RingLayout layout(area, static_cast<int>(scene.ranks.size()));
  const Canvas c{none, layout, scene, hub, theme, {}};
  std::vector<Part> parts;
  for (const RankScene& rank : scene.ranks) {
    const QString state = QString("%1 %2 %3 %4 %5 %6")
                              .arg(activity(c, rank).first, rank.attending.c_str(),
                                   traces::describe(rank.place).c_str())
                              .arg(rank.held_source)
                              .arg(rank.cells.size())
                              .arg(rank.rank == hub.selectedRank());
    parts.push_back({state, cardBounds(c, rank.rank)});
  }
  parts.push_back(
      {QString("%1 %2").arg(traces::describe(scene.place).c_str(), scene.sentence.c_str()),
       centerBox(c)});
  QRegion damage;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (i >= parts_.size() || parts_.size() != parts.size() || parts_[i].state != parts[i].state ||
        parts_[i].box != parts[i].box)
      damage += parts[i].box.toAlignedRect();
  if (parts_.size() != parts.size()) damage = area.toAlignedRect();
  parts_ = std::move(parts);
  damage += packets_;
  packets_ = {};
  for (const MovingPacket& packet : scene.packets)
    if (const auto shape = shapeOf(c, packet)) packets_ += shape->bounds().toAlignedRect();
  return damage + packets_;
}

int rankAt(const QPointF& point, const QRectF& area, int ranks) {
  const RingLayout layout(area, ranks);
  for (int rank = 0; rank < ranks; ++rank)
    if (layout.card(rank).contains(point)) return rank;
  return -1;
}

}  // namespace ringscope::viz
