// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/ring/ring_painter.h"

#include <cmath>
#include <numeric>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/views/positions/position_strip_painter.h"
#include "viz/views/ring/ring_card.h"
#include "viz/views/ring/ring_packets.h"

namespace ringscope::viz {
namespace {

constexpr double kLeastRing = 300, kLeastCrowdedRing = 220, kStripHead = 28;

/// Only the stretches that are dirty: an ellipse as large as a screen is slow to draw.
void drawTrack(const RingCanvas& c) {
  constexpr int kLeastPoints = 24, kPointsOfAll = 192;
  const int points = std::max(kLeastPoints, kPointsOfAll / static_cast<int>(c.scene.ranks.size()));
  c.p.setPen(QPen(c.theme.line, c.s(1.5)));
  c.p.setBrush(Qt::NoBrush);
  for (std::size_t rank = 0; rank < c.scene.ranks.size(); ++rank) {
    QPolygonF stretch;
    for (int i = 0; i <= points; ++i)
      stretch << c.layout.point(static_cast<double>(rank) + static_cast<double>(i) / points);
    if (c.touches(stretch.boundingRect())) c.p.drawPolyline(stretch);
  }
}

/// Cards get smaller with more ranks; the words in the middle do not.
double centerZoom(const RingCanvas& c) {
  if (c.compact()) return 0.95 / c.layout.scale();
  return c.scene.ranks.size() > 4 ? 1.4 : c.small() ? 1.25 : 1.0;
}

/// The words in the middle; with one rank, whose card stands there, under it.
QRectF centerBox(const RingCanvas& c) {
  if (const auto inside = c.insideLanes()) return *inside;
  const double zoom = centerZoom(c);
  // Between the cards at the left and at the right.
  const double room = c.scene.ranks.size() == 1
                          ? c.s(400 * zoom)
                          : 2 * c.layout.radius().x() - c.layout.cardSize().width() - c.s(24);
  const double width = std::min(c.s(400 * zoom), room);
  const QPointF center = c.layout.center();
  const double top = c.scene.ranks.size() == 1 ? c.layout.card(GroupRank::of(0)).bottom() + c.s(12)
                                               : center.y() - c.s(63) * zoom;
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
  const std::string rings = c.scene.ringsText();
  return {
      {QString("ring step %1 of %2").arg(c.scene.place.stage.value()).arg(c.scene.ring_steps),
       textFont(size(22), QFont::DemiBold), c.theme.text, 0},
      {QString("%1 · layer %2 · step %3")
               .arg(traces::name(c.scene.place.direction))
               .arg(c.scene.place.layer.value())
               .arg(c.scene.place.train_step) +
           (rings.empty() ? "" : "\n" + QString::fromStdString(rings)),
       textFont(size(14)), c.theme.dim, c.s(4) * zoom},
      {QString::fromStdString(c.scene.sentence), textFont(size(15)), c.theme.text, c.s(9) * zoom}};
}

/// Returns the heights of words that stand one below the other in a box of this width.
std::vector<double> heightsOf(const std::vector<Words>& words, double width) {
  std::vector<double> heights;
  heights.reserve(words.size());
  for (const Words& w : words)
    heights.push_back(QFontMetricsF(w.font)
                          .boundingRect(QRectF(0, 0, width, 1e4), Qt::TextWordWrap, w.text)
                          .height());
  return heights;
}

double heightOf(const std::vector<Words>& words, double width) {
  const std::vector<double> heights = heightsOf(words, width);
  double total = std::accumulate(heights.begin(), heights.end(), 0.0);
  for (const Words& w : words) total += w.gap;
  return total;
}

/// Returns the words in the largest sizes that fit. Words that the bar below repeats are left out
/// first, and then the sentence.
std::vector<Words> fittingWords(const RingCanvas& c, const QSizeF& room) {
  constexpr double kFiner = 0.95;
  constexpr int kSmallestSentence = 11, kSentence = 15;
  for (int left_out = 0;; ++left_out)
    for (double zoom = centerZoom(c);; zoom *= kFiner) {
      std::vector<Words> words = centerWords(c, zoom);
      words.erase(words.begin() + 1, words.begin() + 1 + left_out);
      if (heightOf(words, room.width()) <= room.height()) return words;
      if (c.font(kSentence * zoom) > kSmallestSentence) continue;
      if (words.size() == 1) return words;
      break;
    }
}

void drawCenter(const RingCanvas& c) {
  const QRectF box = centerBox(c);
  if (!c.touches(box)) return;
  const std::vector<Words> words = fittingWords(c, box.size());
  const std::vector<double> heights = heightsOf(words, box.width());
  double y = box.center().y() - heightOf(words, box.width()) / 2;
  for (std::size_t i = 0; i < words.size(); ++i) {
    y += words[i].gap;
    write(c.p, QRectF(box.left(), y, box.width(), heights[i] + 1), words[i].text, words[i].font,
          words[i].color, Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap);
    y += heights[i];
  }
}

}  // namespace

void paintRing(QPainter& painter, const QRectF& area, const RingScene& scene, double phase,
               const Theme& theme, const QRegion& dirty) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(area, theme.background);
  if (scene.ranks.empty()) {
    write(painter, area, QString::fromStdString(scene.note), textFont(15), theme.dim,
          Qt::AlignCenter);
  } else {
    const auto seats = static_cast<int>(scene.ranks.size());
    const RingLayout layout(area, seats);
    const RingCanvas canvas{painter, layout, scene, phase, theme, dirty};
    if (seats > 1 && scene.ringsText().empty()) drawTrack(canvas);
    for (GroupRank seat = GroupRank::of(0); seat.value() < seats; seat = seat.next())
      if (canvas.touches(cardBounds(canvas, seat))) drawCard(canvas, seat);
    drawCenter(canvas);
    for (const MovingPacket& packet : scene.packets) drawPacket(canvas, packet);
  }
  painter.restore();
}

RingAreas ringAreas(const QRectF& area, const RingScene& scene) {
  const auto rows = std::clamp<std::size_t>(scene.ranks.size(), 1, 4);
  double strip = std::floor(std::min(38 + 22.0 * static_cast<double>(rows), area.height() * 0.3));
  // The strip gives way to the ring: the Positions view shows the strip too.
  const double least = scene.ranks.size() > 8 ? kLeastCrowdedRing : kLeastRing;
  if (area.height() - strip < least) strip = std::min(strip, kStripHead);
  return {area.adjusted(0, 0, 0, -strip),
          QRectF(area.left(), area.bottom() - strip, area.width(), strip)};
}

void paintRingPage(QPainter& painter, const QRectF& area, const RingScene& scene,
                   const PositionStrip& strip, double phase, const Theme& theme,
                   const QRegion& dirty) {
  const RingAreas areas = ringAreas(area, scene);
  paintRing(painter, areas.ring, scene, phase, theme, dirty);
  if (!dirty.isEmpty() && !dirty.intersects(areas.strip.toAlignedRect())) return;
  if (scene.ranks.empty()) return painter.fillRect(areas.strip, theme.background);
  paintPositionStrip(painter, areas.strip, strip, theme);
  // A row of pixels of its own, inside what the strip has just filled.
  painter.fillRect(QRectF(areas.strip.topLeft(), QSizeF(areas.strip.width(), 1)), theme.line);
}

QRegion RingDamage::update(const QRectF& area, const RingScene& scene, double phase,
                           const Theme& theme) {
  QPainter none;
  const auto seats = static_cast<int>(scene.ranks.size());
  const RingLayout layout(area, seats);
  const RingCanvas c{none, layout, scene, phase, theme, {}};
  std::vector<Part> parts;
  for (GroupRank seat = GroupRank::of(0); seat.value() < seats; seat = seat.next()) {
    const RankScene& rank = scene.ranks[seat.index()];
    const QString state = QString("%1 %2 %3 %4 %5 %6 %7")
                              .arg(activity(c, rank).first, rank.attending.c_str(),
                                   traces::describe(rank.place).c_str())
                              .arg(rank.rank.value())
                              .arg(rank.held_source.value())
                              .arg(rank.cells.size())
                              .arg(rank.rank == scene.selected);
    parts.push_back({state, cardBounds(c, seat)});
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

WorldRank rankAt(const QPointF& point, const QRectF& area, const RingScene& scene) {
  const auto seats = static_cast<int>(scene.ranks.size());
  const RingLayout layout(area, seats);
  for (GroupRank seat = GroupRank::of(0); seat.value() < seats; seat = seat.next())
    if (layout.card(seat).contains(point)) return scene.ranks[seat.index()].rank;
  return WorldRank::none();
}

std::string describeCardAt(const QPointF& point, const QRectF& area, const RingScene& scene) {
  const WorldRank at = rankAt(point, area, scene);
  if (!at.exists()) return "";
  const RankScene& rank = scene.ranks[scene.rankSeat(at).index()];
  std::string words = "rank " + toString(at);
  if (!rank.chunks.empty()) words += " · chunks " + listedNumbers(rank.chunks);
  words += "\n" + rank.attending;
  for (const Waiting& wait : rank.waits)
    words += "\nwaits" + (wait.peer.exists() ? " for rank " + toString(wait.peer) : "") + " · " +
             describeDuration(wait.ns);
  return words;
}

}  // namespace ringscope::viz
