// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/ring_painter.h"

#include <numeric>

#include "viz/views/ring_card.h"
#include "viz/views/ring_packets.h"

namespace ringscope::viz {
namespace {

/// Only the stretches that are dirty: an ellipse as large as a screen is slow to draw.
void drawTrack(const RingCanvas& c) {
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

/// Cards get smaller with more ranks; the words in the middle do not.
double centerZoom(const RingCanvas& c) {
  return c.compact() ? 0.95 / c.layout.scale() : c.scene.ranks.size() > 4 ? 1.4 : 1.0;
}

/// The words in the middle; with one rank, whose card stands there, under it.
QRectF centerBox(const RingCanvas& c) {
  if (const auto inside = c.insideLanes()) return *inside;
  const double zoom = centerZoom(c);
  // Between the cards at the left and at the right.
  const double room = c.scene.ranks.size() < 3
                          ? c.s(400 * zoom)
                          : 2 * c.layout.radius().x() - c.layout.cardSize().width() - c.s(24);
  const double width = std::min(c.s(400 * zoom), room);
  const QPointF center = c.layout.center();
  const double top =
      c.scene.ranks.size() == 1 ? c.layout.card(0).bottom() + c.s(12) : center.y() - c.s(63) * zoom;
  return {center.x() - width / 2, top, width, c.s(126) * zoom};
}

struct Words {
  QString text;
  QFont font;
  QColor color;
  double gap;  ///< above
};

std::vector<Words> centerWords(const RingCanvas& c, double zoom) {
  const auto size = [&](double px) { return c.font(px * zoom); };
  return {
      {QString("ring step %1 of %2").arg(c.scene.place.stage).arg(c.scene.ring_steps),
       textFont(size(22), QFont::DemiBold), c.theme.text, 0},
      {QString("%1 · layer %2 · step %3")
           .arg(traces::name(c.scene.place.direction))
           .arg(c.scene.place.layer)
           .arg(c.scene.place.train_step),
       textFont(size(14)), c.theme.dim, c.s(4) * zoom},
      {QString::fromStdString(c.scene.sentence), textFont(size(15)), c.theme.text, c.s(9) * zoom}};
}

/// Of each of the words, one below the other in a box of this width.
std::vector<double> heightsOf(const std::vector<Words>& words, double width) {
  std::vector<double> heights;
  for (const Words& w : words)
    heights.push_back(QFontMetricsF(w.font)
                          .boundingRect(QRectF(0, 0, width, 1e4), Qt::TextWordWrap, w.text)
                          .height());
  return heights;
}

/// As large as they may be and fit.
void drawCenter(const RingCanvas& c) {
  const QRectF box = centerBox(c);
  if (!c.touches(box)) return;
  constexpr double kFiner = 0.95;
  constexpr int kSmallestSentence = 11;
  double zoom = centerZoom(c), total = 0;
  std::vector<Words> words;
  std::vector<double> heights;
  for (;; zoom *= kFiner) {
    words = centerWords(c, zoom);
    heights = heightsOf(words, box.width());
    total = std::accumulate(heights.begin(), heights.end(), 0.0);
    for (const Words& w : words) total += w.gap;
    if (total <= box.height() || words.back().font.pixelSize() <= kSmallestSentence) break;
  }
  double y = box.center().y() - total / 2;
  for (std::size_t i = 0; i < words.size(); ++i) {
    y += words[i].gap;
    c.p.setPen(words[i].color);
    c.p.setFont(words[i].font);
    c.p.drawText(QRectF(box.left(), y, box.width(), heights[i] + 1),
                 Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, words[i].text);
    y += heights[i];
  }
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
    const RingCanvas canvas{painter, layout, scene, hub, theme, dirty};
    if (scene.ranks.size() > 1) drawTrack(canvas);
    for (const RankScene& rank : scene.ranks)
      if (canvas.touches(cardBounds(canvas, rank.rank))) drawCard(canvas, rank);
    drawCenter(canvas);
    for (const MovingPacket& packet : scene.packets) drawPacket(canvas, packet);
  }
  painter.restore();
}

QRegion RingDamage::update(const QRectF& area, const Hub& hub, const Theme& theme) {
  const RingScene& scene = hub.scene();
  QPainter none;
  const RingLayout layout(area, static_cast<int>(scene.ranks.size()));
  const RingCanvas c{none, layout, scene, hub, theme, {}};
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
    if (const auto shape = packetShape(c, packet)) packets_ += shape->region();
  return damage + packets_;
}

int rankAt(const QPointF& point, const QRectF& area, int ranks) {
  const RingLayout layout(area, ranks);
  for (int rank = 0; rank < ranks; ++rank)
    if (layout.card(rank).contains(point)) return rank;
  return -1;
}

}  // namespace ringscope::viz
