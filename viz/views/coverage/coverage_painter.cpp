// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/coverage/coverage_painter.h"

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

/// The canvas that all parts of the drawing share.
struct CoverageCanvas {
  QPainter& p;
  QRectF area;
  const CoverageScene& scene;
  const Theme& theme;
};

constexpr double kMatrixLeft = 84, kCoverageTop = 84, kCoverageMargin = 24, kBeside = 56;
constexpr double kLeastWork = 280, kLeastMatrix = 160;               // widths
constexpr double kCoverageLeastPitch = 13, kCoverageMostPitch = 40;  // of the list of ranks
constexpr double kCoverageName = 54, kCount = 52,
                 kCoverageWait = 74;  // its columns beside the bars
constexpr double kNumberFrom = 26;    // side of a cell with its ring step

QRectF matrixOf(const QRectF& area) {
  const double beside_work = area.width() - kMatrixLeft - kBeside - kLeastWork - kCoverageMargin;
  const double side = std::min(
      {area.width() * 0.62 - 110, std::max(kLeastMatrix, beside_work), area.height() - 130});
  return {area.left() + kMatrixLeft, area.top() + kCoverageTop, side, side};
}

QRectF cellRect(const QRectF& matrix, int chunks, int q, int k) {
  const double pitch = matrix.width() / chunks, gap = std::min(3.0, pitch * 0.12);
  return {matrix.left() + k * pitch, matrix.top() + q * pitch, pitch - gap, pitch - gap};
}

/// Returns the verdict. The advice on recording a mask stands beside the matrix, where words wrap.
std::string headFor(const CoverageScene& scene) {
  if (scene.wanted_known || scene.faulty()) return describe(scene);
  return "the mask that was meant is not recorded";
}

void drawHead(const CoverageCanvas& c) {
  const QRectF page = c.area.adjusted(24, 0, -24, 0);
  paintTitle(c.p, titleLine(c.area), "Who attended what, and when", c.theme.text, 15);
  write(c.p, QRectF(page.left(), page.top() + 34, page.width(), 22), text(headFor(c.scene)),
        textFont(13, QFont::Medium),
        c.scene.faulty()   ? c.theme.wrong
        : c.scene.complete ? c.theme.right
                           : c.theme.dim);
}

/// A strip of the cell for each rank that attends some of the heads; below the diagonal where only
/// that is attended.
void drawPainters(const CoverageCanvas& c, const QRectF& box, int query, int key) {
  const std::vector<WorldRank> painters = c.scene.pairPainters(query, key);
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

void drawCell(const CoverageCanvas& c, const QRectF& box, int query, int key) {
  const PairCell& cell = c.scene.at(query, key);
  c.p.setPen(Qt::NoPen);
  c.p.setBrush(cell.masked() ? c.theme.background : c.theme.raised);
  c.p.drawRect(box);
  if (cell.ring_step.exists()) {
    drawPainters(c, box, query, key);
    if (box.width() > kNumberFrom && !cell.diagonal) {
      const QRectF plate(box.center().x() - 9, box.center().y() - 8, 18, 16);
      c.p.setBrush(c.theme.plate);
      c.p.drawRoundedRect(plate, 3, 3);
      write(c.p, plate, QString::number(cell.ring_step.value()), monoFont(11, QFont::Bold),
            c.theme.on_plate, Qt::AlignCenter);
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

void drawAxes(const CoverageCanvas& c) {
  c.p.setFont(monoFont(11));
  c.p.setPen(c.theme.dim);
  const QRectF m = matrixOf(c.area);
  for (int i = 0; i < c.scene.chunks; ++i) {
    if (cellRect(m, c.scene.chunks, 0, 0).width() < 14 && i % 4) continue;
    const QRectF q = cellRect(m, c.scene.chunks, i, 0), k = cellRect(m, c.scene.chunks, 0, i);
    // A number may be larger than its cell.
    c.p.drawText(QRectF(m.left() - 40, q.center().y() - 8, 32, 16),
                 Qt::AlignVCenter | Qt::AlignRight, QString::number(i));
    c.p.drawText(QRectF(k.center().x() - 16, m.top() - 20, 32, 16), Qt::AlignCenter,
                 QString::number(i));
  }
  c.p.setFont(textFont(12));
  const bool numbered = cellRect(m, c.scene.chunks, 0, 0).width() > kNumberFrom;
  c.p.drawText(QRectF(m.left() - 44, m.bottom() + 6, m.width() + 44 + kBeside / 2, 36),
               Qt::AlignTop | Qt::TextWordWrap,
               numbered
                   ? "key chunks across, query chunks down; the number is the ring step"
                   : "key chunks across, query chunks down; point at a cell for its ring step");
}

/// "1,088", "34 k", "2.1 M"
QString shortCount(double count) {
  if (count < 1e4) return QString("%L1").arg(static_cast<qint64>(std::llround(count)));
  return count < 1e6 ? QString("%1 k").arg(count / 1e3, 0, 'f', 0)
                     : QString("%L1 M").arg(count / 1e6, 0, 'f', count < 1e8 ? 1 : 0);
}

void drawRank(const CoverageCanvas& c, const QRectF& row, std::size_t i) {
  const WorldRank rank = c.scene.ranks[i];
  const double largest =
      std::max(1e-9, *std::max_element(c.scene.work_total.begin(), c.scene.work_total.end()));
  const double thin = row.height() < 20 ? 0.2 : 0.38;
  const QRectF bar = row.adjusted(kCoverageName, 0, -kCount - kCoverageWait, -row.height() * thin);
  const int size = row.height() < 15 ? 11 : 12;
  c.p.setPen(rank == c.scene.selected ? c.theme.text : c.theme.dim);
  c.p.setFont(textFont(size));
  const QRectF words(row.left(), bar.center().y() - 8, row.width(), 16);
  c.p.drawText(words, Qt::AlignVCenter, QString("rank %1").arg(rank.value()));
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
  write(c.p, words.adjusted(0, 0, -kCoverageWait, 0), shortCount(c.scene.work_total[i]),
        monoFont(size), c.theme.text, Qt::AlignVCenter | Qt::AlignRight);
  const bool most = rank == c.scene.longestWaiting();
  write(c.p, words, describeDuration(c.scene.wait_ns[i]).c_str(),
        monoFont(size, most ? QFont::Bold : QFont::Normal), most ? c.theme.wait : c.theme.dim,
        Qt::AlignVCenter | Qt::AlignRight);
}

QString balanceText(const CoverageScene& scene) {
  QString words;
  if (!scene.wanted_known)
    words = QString("Nothing says what should be attended; %1. ").arg(scene.mask_advice.c_str());
  words += QString("Balance %1 %: the mean over the largest share.")
               .arg(scene.efficiency() * 100, 0, 'f', 0);
  if (scene.contiguous)
    words += QString(" Contiguous shards would have %1 %.").arg(*scene.contiguous * 100, 0, 'f', 0);
  if (const WorldRank rank = scene.longestWaiting(); rank.exists())
    words += QString(" Rank %1 waits most.").arg(rank.value());
  return words;
}

void drawWork(const CoverageCanvas& c) {
  const double left = matrixOf(c.area).right() + kBeside, right = c.area.right() - kCoverageMargin;
  if (right - left < 120) return;
  c.p.setPen(c.theme.dim);
  c.p.setFont(partFont());
  const QRectF head(left, c.area.top() + 66, right - left, 16);
  c.p.drawText(head, Qt::AlignVCenter, "QUERY–KEY PAIRS PER HEAD");
  c.p.drawText(head, Qt::AlignVCenter | Qt::AlignRight, "WAITS");
  const QString words = balanceText(c.scene);
  const double said = wrappedHeight(words, textFont(13), right - left);
  const auto ranks = static_cast<double>(std::max<std::size_t>(1, c.scene.ranks.size()));
  const double pitch = std::clamp((c.area.height() - kCoverageTop - said - 24) / ranks,
                                  kCoverageLeastPitch, kCoverageMostPitch);
  double y = c.area.top() + kCoverageTop + 4;
  for (std::size_t r = 0; r < c.scene.ranks.size(); ++r, y += pitch)
    drawRank(c, QRectF(left, y, right - left, pitch), r);
  write(c.p, QRectF(left, y + 8, right - left, said + 2), words, textFont(13), c.theme.text,
        Qt::TextWordWrap);
}

}  // namespace

void paintCoverage(QPainter& painter, const QRectF& area, const CoverageScene& scene, double,
                   const Theme& theme) {
  painter.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(painter, area, scene.note, theme);
  const CoverageCanvas canvas{painter, area, scene, theme};
  drawHead(canvas);
  const QRectF matrix = matrixOf(area);
  for (int q = 0; q < scene.chunks; ++q)
    for (int k = 0; k < scene.chunks; ++k)
      drawCell(canvas, cellRect(matrix, scene.chunks, q, k), q, k);
  drawAxes(canvas);
  drawWork(canvas);
}

double coverageHeight(double width, const CoverageScene& scene) {
  if (!scene.note.empty()) return 0;
  const double matrix = matrixOf(QRectF(0, 0, width, 1e4)).right();
  const double beside = std::max(120.0, width - matrix - kBeside - kCoverageMargin);
  return kCoverageTop + kCoverageLeastPitch * static_cast<double>(scene.ranks.size()) +
         wrappedHeight(balanceText(scene), textFont(13), beside) + 24;
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
