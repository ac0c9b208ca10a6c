// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/paint/coverage_painter.h"

#include "viz/paint/page.h"
#include "viz/scene/units.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

/// What the parts of the drawing share.
struct Canvas {
  QPainter& p;
  QRectF area;
  const CoverageScene& scene;
  const Theme& theme;
};

QRectF matrixOf(const QRectF& area) {
  const double side = std::min(area.width() * 0.62 - 110, area.height() - 130);
  return {area.left() + 84, area.top() + 84, side, side};
}

QRectF cellRect(const QRectF& matrix, int chunks, int q, int k) {
  const double pitch = matrix.width() / chunks, gap = std::min(3.0, pitch * 0.12);
  return {matrix.left() + k * pitch, matrix.top() + q * pitch, pitch - gap, pitch - gap};
}

void drawHead(const Canvas& c) {
  const QRectF page = c.area.adjusted(24, 0, -24, 0);
  c.p.setPen(c.theme.text);
  c.p.setFont(textFont(15, QFont::DemiBold));
  c.p.drawText(QRectF(page.left(), page.top() + 12, page.width(), 24), Qt::AlignVCenter,
               "Who attended what, and when");
  c.p.setPen(c.scene.faulty() ? c.theme.wrong : c.scene.complete ? c.theme.right : c.theme.dim);
  c.p.setFont(textFont(13, QFont::Medium));
  c.p.drawText(QRectF(page.left(), page.top() + 34, page.width(), 22), Qt::AlignVCenter,
               QString::fromStdString(describe(c.scene)));
}

/// A strip of the cell for each rank that attends some of the heads; below the diagonal where only
/// that is attended.
void drawPainters(const Canvas& c, const QRectF& box, int query, int key) {
  const std::vector<WorldRank> painters = c.scene.paintersOf(query, key);
  const double width = box.width() / static_cast<double>(painters.size());
  const bool diagonal = c.scene.at(query, key).diagonal;
  c.p.setBrushOrigin(box.topLeft());
  double x = box.left();
  for (const WorldRank painter : painters) {
    const double down = diagonal ? x - box.left() : 0;  // the diagonal falls with x
    const double down_to = diagonal ? down + width : 0;
    if (painter.exists()) {
      c.p.setBrush(rankBrush(painter));
      c.p.drawPolygon(QPolygonF{{x, box.top() + down},
                                {x, box.bottom()},
                                {x + width, box.bottom()},
                                {x + width, box.top() + down_to}});
    }
    x += width;
  }
}

void drawCell(const Canvas& c, const QRectF& box, int query, int key) {
  const PairCell& cell = c.scene.at(query, key);
  c.p.setPen(Qt::NoPen);
  c.p.setBrush(cell.masked() ? c.theme.background : c.theme.raised);
  c.p.drawRect(box);
  if (cell.ring_step.exists()) {
    drawPainters(c, box, query, key);
    if (box.width() > 26 && !cell.diagonal) {
      const QRectF plate(box.center().x() - 9, box.center().y() - 8, 18, 16);
      c.p.setBrush(c.theme.plate);
      c.p.drawRoundedRect(plate, 3, 3);
      c.p.setPen(c.theme.on_plate);
      c.p.setFont(monoFont(11, QFont::Bold));
      c.p.drawText(plate, Qt::AlignCenter, QString::number(cell.ring_step.value()));
    }
  }
  c.p.setBrush(Qt::NoBrush);
  if (c.scene.isFault(cell)) {
    c.p.setPen(QPen(c.theme.wrong, 2));
    c.p.drawRect(box.adjusted(1, 1, -1, -1));
    c.p.drawLine(box.topLeft(), box.bottomRight());
  } else if (cell.now) {
    c.p.setPen(QPen(c.theme.text, 2));
    c.p.drawRect(box.adjusted(1, 1, -1, -1));
  }
}

void drawAxes(const Canvas& c) {
  c.p.setFont(monoFont(11));
  c.p.setPen(c.theme.dim);
  const QRectF m = matrixOf(c.area);
  for (int i = 0; i < c.scene.chunks; ++i) {
    if (cellRect(m, c.scene.chunks, 0, 0).width() < 14 && i % 4) continue;
    const QRectF q = cellRect(m, c.scene.chunks, i, 0), k = cellRect(m, c.scene.chunks, 0, i);
    c.p.drawText(QRectF(m.left() - 40, q.top(), 32, q.height()), Qt::AlignVCenter | Qt::AlignRight,
                 QString::number(i));
    c.p.drawText(QRectF(k.left(), m.top() - 20, k.width(), 16), Qt::AlignCenter,
                 QString::number(i));
  }
  c.p.setFont(textFont(12));
  c.p.drawText(QRectF(m.left(), m.bottom() + 6, c.area.right() - m.left() - 24, 18),
               Qt::AlignVCenter,
               "key chunks across, query chunks down; the number is the ring step");
}

/// "1,088", "34 k", "2.1 M"
QString shortCount(double count) {
  if (count < 1e4) return QString("%L1").arg(static_cast<qint64>(count));
  return count < 1e6 ? QString("%1 k").arg(count / 1e3, 0, 'f', 0)
                     : QString("%L1 M").arg(count / 1e6, 0, 'f', count < 1e8 ? 1 : 0);
}

void drawRank(const Canvas& c, const QRectF& row, std::size_t i) {
  const WorldRank rank = c.scene.ranks[i];
  const double largest =
      std::max(1e-9, *std::max_element(c.scene.work_total.begin(), c.scene.work_total.end()));
  const QRectF bar = row.adjusted(60, 0, -154, 0);
  c.p.setPen(rank == c.scene.selected ? c.theme.text : c.theme.dim);
  c.p.setFont(textFont(12));
  c.p.drawText(row, Qt::AlignVCenter, QString("rank %1").arg(rank.value()));
  c.p.setPen(QPen(c.theme.line, 1));
  c.p.setBrush(c.theme.raised);
  c.p.drawRect(
      QRectF(bar.topLeft(), QSizeF(bar.width() * c.scene.work_total[i] / largest, bar.height())));
  c.p.setPen(Qt::NoPen);
  c.p.setBrushOrigin(bar.topLeft());
  c.p.setBrush(rankBrush(rank));
  c.p.drawRect(
      QRectF(bar.topLeft(),
             QSizeF(bar.width() * std::min(1.0, c.scene.work_done[i] / largest), bar.height())));
  c.p.setPen(c.theme.text);
  c.p.setFont(monoFont(12));
  c.p.drawText(QRectF(bar.right() + 6, row.top(), 64, row.height()),
               Qt::AlignVCenter | Qt::AlignRight, shortCount(c.scene.work_total[i]));
  const bool most = rank == c.scene.longestWaiting();
  c.p.setFont(monoFont(12, most ? QFont::Bold : QFont::Normal));
  c.p.setPen(most ? c.theme.wait : c.theme.dim);
  c.p.drawText(row, Qt::AlignVCenter | Qt::AlignRight,
               describeDuration(c.scene.wait_ns[i]).c_str());
}

void drawWork(const Canvas& c) {
  const double left = matrixOf(c.area).right() + 56, right = c.area.right() - 24;
  if (right - left < 120) return;
  c.p.setPen(c.theme.dim);
  c.p.setFont(textFont(11, QFont::DemiBold));
  c.p.drawText(QRectF(left, c.area.top() + 70, right - left, 16), Qt::AlignVCenter,
               "WORK, QUERY–KEY PAIRS");
  c.p.drawText(QRectF(left, c.area.top() + 70, right - left, 16), Qt::AlignVCenter | Qt::AlignRight,
               "WAITS");
  const auto ranks = static_cast<int>(c.scene.ranks.size());
  const double pitch = std::clamp((c.area.height() - 210) / std::max(1, ranks), 12.0, 40.0);
  double y = c.area.top() + 92;
  for (std::size_t r = 0; r < c.scene.ranks.size(); ++r, y += pitch)
    drawRank(c, QRectF(left, y, right - left, pitch * 0.62), r);
  y += 12;
  c.p.setFont(textFont(13));
  c.p.setPen(c.theme.text);
  QString words = QString(
                      "Balance %1 %: the mean over the largest share. Contiguous causal "
                      "shards cannot pass N / (2N − 1) = %2 %.")
                      .arg(c.scene.efficiency() * 100, 0, 'f', 0)
                      .arg(contiguousCap(ranks) * 100, 0, 'f', 0);
  if (const WorldRank rank = c.scene.longestWaiting(); rank.exists())
    words += QString(" Rank %1 waits most.").arg(rank.value());
  c.p.drawText(QRectF(left, y, right - left, 90), Qt::TextWordWrap, words);
}

}  // namespace

void paintCoverage(QPainter& painter, const QRectF& area, const CoverageScene& scene, double,
                   const Theme& theme) {
  painter.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(painter, area, scene.note, theme);
  const Canvas canvas{painter, area, scene, theme};
  drawHead(canvas);
  const QRectF matrix = matrixOf(area);
  for (int q = 0; q < scene.chunks; ++q)
    for (int k = 0; k < scene.chunks; ++k)
      drawCell(canvas, cellRect(matrix, scene.chunks, q, k), q, k);
  drawAxes(canvas);
  drawWork(canvas);
}

std::optional<ChunkPair> coverageHit(const QPointF& point, const QRectF& area,
                                     const CoverageScene& scene) {
  const QRectF matrix = matrixOf(area);
  for (int q = 0; q < scene.chunks; ++q)
    for (int k = 0; k < scene.chunks; ++k)
      if (cellRect(matrix, scene.chunks, q, k).contains(point)) return ChunkPair{q, k};
  return std::nullopt;
}

}  // namespace ringscope::viz
