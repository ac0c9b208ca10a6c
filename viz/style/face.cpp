// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/style/face.h"

#include <QImage>
#include <QPixmapCache>
#include <cmath>
#include <map>

#include "viz/style/shapes.h"

namespace ringscope::viz {
namespace {

constexpr int kTile = 8;
constexpr double kLeastLabelled = 8;  // height

void paintPattern(QPainter& p, int pattern) {
  switch (pattern) {
    case 0:
      p.setBrush(p.pen().color());
      p.setPen(Qt::NoPen);
      p.drawEllipse(QPointF(4, 4), 1.1, 1.1);
      break;
    case 1:
      for (int d = -8; d <= 8; d += 8) p.drawLine(d, 8, d + 8, 0);
      break;
    case 2:
      p.drawLine(0, 4, 8, 4);
      p.drawLine(4, 0, 4, 8);
      break;
    case 3:
      p.drawLine(0, 2, 8, 2);
      p.drawLine(0, 6, 8, 6);
      break;
    case 4:
      for (int d = -8; d <= 8; d += 8) p.drawLine(d, 0, d + 8, 8);
      break;
    case 5:
      p.drawEllipse(QPointF(4, 4), 2.4, 2.4);
      break;
    case 6:
      p.fillRect(0, 0, 4, 4, p.pen().color());
      p.fillRect(4, 4, 4, 4, p.pen().color());
      break;
    default:
      break;
  }
}

QImage makeTile(traces::WorldRank rank) {
  constexpr int kScale = 2;  // sharp on high-density screens
  QImage tile(kTile * kScale, kTile * kScale, QImage::Format_ARGB32_Premultiplied);
  tile.setDevicePixelRatio(kScale);
  const QColor color = rankColor(rank);
  tile.fill(color);
  QPainter painter(&tile);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor ink = color.darker(175);
  ink.setAlpha(150);
  painter.setPen(QPen(ink, 1.0));
  const int pattern = std::max(0, rank.value());
  paintPattern(painter, (pattern + pattern / 8) % 8);
  return tile;
}

}  // namespace

QBrush rankBrush(traces::WorldRank rank) {
  static std::map<traces::WorldRank, QBrush> cache;
  auto found = cache.find(rank);
  if (found == cache.end()) found = cache.emplace(rank, QBrush(makeTile(rank))).first;
  return found->second;
}

void paintMovingFace(QPainter& painter, const QRectF& rect, traces::WorldRank source_rank,
                     const QString& label, const Theme& theme) {
  if (writesShapes(painter)) return paintFace(painter, rect, source_rank, label, theme);
  const double ratio = painter.device()->devicePixelRatioF() * painter.transform().m11();
  const QSize pixels = (rect.size() * ratio).toSize().expandedTo({1, 1});
  const QString key = QString("face %1 %2 %3 %4 %5")
                          .arg(source_rank.value())
                          .arg(label, theme.name)
                          .arg(pixels.width())
                          .arg(pixels.height());
  QPixmap face;
  if (!QPixmapCache::find(key, &face)) {
    face = QPixmap(pixels);
    face.fill(Qt::transparent);
    face.setDevicePixelRatio(ratio);
    QPainter on_face(&face);
    paintFace(on_face, QRectF(QPointF(0, 0), rect.size()), source_rank, label, theme);
    on_face.end();
    QPixmapCache::insert(key, face);
  }
  // On whole pixels, so that it stays sharp.
  painter.drawPixmap(
      QPointF(std::round(rect.left() * ratio), std::round(rect.top() * ratio)) / ratio, face);
}

void paintFace(QPainter& painter, const QRectF& rect, traces::WorldRank source_rank,
               const QString& whole, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrushOrigin(rect.topLeft());
  painter.setBrush(rankBrush(source_rank));
  const double radius = std::min(6.0, rect.height() / 4);
  painter.drawRoundedRect(rect, radius, radius);
  const int size = std::clamp(static_cast<int>(rect.height() * 0.46), 8, 22);
  painter.setFont(textFont(size, QFont::Bold));
  const double inset = std::max(2.0, rect.height() * 0.16);
  auto width_of = [&](const QString& words) {
    return painter.fontMetrics().horizontalAdvance(words) + size;
  };
  // "15" of "KV 15" where there is no room for more.
  const QString label = width_of(whole) <= rect.width() - inset ? whole : whole.section(' ', -1);
  const double label_width = width_of(label);
  if (!label.isEmpty() && rect.height() >= kLeastLabelled && label_width <= rect.width() - inset) {
    const QRectF plate(
        rect.left() + inset, rect.top() + inset,
        std::max(label_width, std::min(rect.width() - 2 * inset, rect.height() * 2.6)),
        rect.height() - 2 * inset);
    painter.setBrush(theme.plate);
    painter.drawRoundedRect(plate, radius - 2, radius - 2);
    painter.setPen(theme.on_plate);
    painter.drawText(plate, Qt::AlignCenter, label);
  }
  painter.restore();
}

}  // namespace ringscope::viz
