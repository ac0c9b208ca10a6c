// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/positions/positions_painter.h"

#include <QPainterPath>
#include <algorithm>

#include "viz/kit/page.h"
#include "viz/style/elide.h"
#include "viz/style/face.h"
#include "viz/views/positions/position_strip_painter.h"

namespace ringscope::viz {
namespace {

constexpr double kPositionsLeft = 132, kCell = 46, kPitch = 24, kBuffer = 20;
constexpr double kBand = 7 * kPitch + 32;  // of tokens, with the room above it

/// The places of the parts of the drawing. Painting and hit testing both use it.
class PositionsLayout {
 public:
  PositionsLayout(const QRectF& area, const PositionsScene& scene)
      : area_(area),
        ranks_(static_cast<int>(scene.strip->rows.size())),
        buffers_(static_cast<int>(scene.table.buffers.size())) {}

  bool compact() const { return area_.height() < 560; }
  QRectF strip() const {
    const double row = compact() ? 15 : 22;
    return {area_.left(), area_.top() + (compact() ? 36 : 58), area_.width(),
            36 + row * std::clamp(ranks_, 1, 8)};
  }
  double tokensTop() const {
    return strip().bottom() + (compact() ? 46 : 64) + kBuffer * std::max(3, buffers_);
  }
  int across() const {
    return std::max(4, static_cast<int>((area_.width() - kPositionsLeft - 24) / kCell));
  }
  /// As many bands of tokens as have room.
  int bands() const {
    return std::max(1, static_cast<int>((area_.bottom() - tokensTop() + 24) / kBand));
  }
  int visible() const { return across() * bands(); }

 private:
  QRectF area_;
  int ranks_, buffers_;
};

/// The values that the parts of the drawing share.
struct PositionsCanvas {
  QPainter& p;
  QRectF area;
  const TokenTable& table;
  PositionsLayout layout;
  int first, selected;
  const Theme& theme;
};

/// Labels stand apart, so that there is room for the arrow to the token that they predict.
double laneY(double top, int lane) {
  return top + kPitch * (lane + (lane >= 4 ? 1 : 0));
}

/// Green and red are for what was compared.
QColor colorOfValues(const BufferLane& lane, const Theme& theme) {
  if (lane.compared == 0) return theme.dim;
  return lane.wrong ? theme.wrong : theme.right;
}

void drawHead(const PositionsCanvas& c) {
  const QRectF line = titleLine(c.area);
  const int count = static_cast<int>(c.table.cells.size());
  paintTitle(c.p, line,
             QString("rank %1 · step %2 · tokens %3 to %4 of its %5")
                 .arg(c.table.rank.value())
                 .arg(c.table.train_step)
                 .arg(c.first)
                 .arg(std::min(c.first + c.layout.visible(), count) - 1)
                 .arg(count),
             c.theme.text);
  if (c.layout.compact()) return;
  write(c.p, line.translated(0, 24),
        "↑ ↓, Page Up, Page Down or the wheel: along the tokens · 1–8, R: another rank · "
        "click a bar to go there · double click: the merge of a token",
        textFont(12), c.theme.dim);
}

void drawBuffers(const PositionsCanvas& c) {
  const double left = c.area.left() + 24, split = c.area.left() + c.area.width() * 0.68;
  double y = c.layout.strip().bottom() + (c.layout.compact() ? 2 : 10);
  write(c.p, QRectF(left, y, 300, 18), "BUFFERS OF THIS RANK", partFont(), c.theme.dim);
  for (const BufferLane& lane : c.table.buffers) {
    y += kBuffer;
    c.p.setFont(monoFont(12));
    c.p.setPen(c.theme.text);
    c.p.drawText(QRectF(left, y, 120, 20), Qt::AlignVCenter,
                 elided(c.p.fontMetrics(), text(lane.name), 120));
    write(c.p, QRectF(left + 126, y, split - left - 126, 20), text(describeCut(lane)), textFont(12),
          lane.accused() ? c.theme.wrong : c.theme.dim);
    c.p.setPen(colorOfValues(lane, c.theme));
    const double room = c.area.right() - 24 - split;
    c.p.drawText(QRectF(split, y, room, 20), Qt::AlignVCenter | Qt::AlignRight,
                 elided(c.p.fontMetrics(), text(describeValues(lane)), room));
  }
}

void drawText(const PositionsCanvas& c, const QRectF& box, const QString& words,
              const QColor& color) {
  write(c.p, box, words, monoFont(12), color, Qt::AlignCenter);
}

void drawValue(const PositionsCanvas& c, const QRectF& box, const QString& words, bool wrong) {
  c.p.setPen(wrong ? QPen(c.theme.wrong, 1.5) : QPen(c.theme.line, 1));
  c.p.setBrush(c.theme.panel);
  c.p.drawRoundedRect(box, 3, 3);
  if (wrong) {
    QColor hatch = c.theme.wrong;
    hatch.setAlpha(70);
    c.p.setPen(Qt::NoPen);
    c.p.setBrush(QBrush(hatch, Qt::BDiagPattern));
    c.p.drawRoundedRect(box, 3, 3);
  }
  drawText(c, box, words, wrong ? c.theme.wrong : c.theme.text);
}

/// From the label up to the token that it predicts, one cell to the right.
void drawArrow(const PositionsCanvas& c, const QRectF& label) {
  const QPointF from(label.center().x(), label.top() - 1);
  const QPointF to(label.center().x() + kCell * 0.78, label.top() - label.height() + 4);
  QPainterPath path(from);
  path.cubicTo(from + QPointF(0, -label.height() / 2), to + QPointF(0, label.height() / 2), to);
  c.p.setPen(QPen(c.theme.faint, 1));
  c.p.setBrush(Qt::NoBrush);
  c.p.drawPath(path);
  c.p.setPen(Qt::NoPen);
  c.p.setBrush(c.theme.faint);
  c.p.drawPolygon(QPolygonF{to + QPointF(0, -4), to + QPointF(-3, 2), to + QPointF(3, 2)});
}

bool isBorder(const TokenCell& cell) {
  return cell.begins_chunk || cell.begins_document;
}

/// Returns the words for what begins at the token, as long as the room allows. The global index is
/// below the line in any case.
QString borderWords(const TokenCell& cell, const QFontMetricsF& letters, double room) {
  const QString what = cell.begins_chunk && cell.begins_document ? "chunk and document begin"
                       : cell.begins_chunk                       ? "chunk begins"
                                                                 : "document begins";
  const QString words = QString("%1 at %2").arg(what).arg(cell.global.value());
  for (const QString& said : {words, what, what.section(' ', 0, 0)})
    if (letters.horizontalAdvance(said) <= room) return said;
  return "";
}

/// `room`: to the next border, or to the side of the page.
void drawBorder(const PositionsCanvas& c, double x, double top, const TokenCell& cell,
                double room) {
  constexpr double kGap = 4;
  c.p.setPen(cell.begins_chunk ? QPen(rankColor(c.table.rank), 2)
                               : QPen(c.theme.text, 1.5, Qt::DashLine));
  c.p.drawLine(QPointF(x, top - 4), QPointF(x, laneY(top, 5) + kPitch));
  write(c.p, QRectF(x + kGap, top - 20, room - kGap, 16),
        borderWords(cell, QFontMetricsF(c.p.font()), room - 2 * kGap), partFont(), c.theme.dim);
}

void drawToken(const PositionsCanvas& c, const TokenCell& cell, double x, double top,
               bool next_is_shown) {
  const std::int64_t vocabulary = c.table.vocabulary;
  auto box = [&](int lane) { return QRectF(x + 1, laneY(top, lane) + 1, kCell - 2, kPitch - 2); };
  drawText(c, box(0), QString::number(cell.global.value()), c.theme.dim);
  const QString token = cell.token ? tokenText(*cell.token, vocabulary).c_str() : "";
  if (cell.tokenWrong()) {
    drawValue(c, box(1), token, true);
  } else {
    c.p.setPen(Qt::NoPen);
    c.p.setBrush(c.theme.raised);
    c.p.drawRoundedRect(box(1), 3, 3);
    drawText(c, box(1), token, c.theme.text);
  }
  drawValue(c, box(2), cell.position ? QString::number(*cell.position) : "–", cell.positionWrong());
  drawText(c, box(3), cell.should_position ? QString::number(*cell.should_position) : "?",
           c.theme.dim);
  drawValue(c, box(4), cell.label ? tokenText(*cell.label, vocabulary).c_str() : "–",
            cell.labelWrong());
  drawText(c, box(5), cell.should_label ? tokenText(*cell.should_label, vocabulary).c_str() : "?",
           c.theme.dim);
  if (cell.label && *cell.label >= 0 && next_is_shown && !cell.labelWrong()) drawArrow(c, box(4));
}

QRectF tokenColumn(double x, double top) {
  return {x, top, kCell, laneY(top, 5) + kPitch - top};
}

void drawSelection(const PositionsCanvas& c, const QRectF& column) {
  c.p.setPen(QPen(c.theme.accent, 2));
  c.p.setBrush(Qt::NoBrush);
  c.p.drawRoundedRect(column.adjusted(0, -1, 0, 1), 4, 4);
}

void drawLaneNames(const PositionsCanvas& c, double top) {
  static const char* const kLanes[] = {"global index", "token", "position id",
                                       "should be",    "label", "next token"};
  for (int lane = 0; lane < 6; ++lane) {
    const bool ours = lane == 2 || lane == 4;
    write(c.p, QRectF(c.area.left() + 24, laneY(top, lane), kPositionsLeft - 36, kPitch),
          kLanes[lane], textFont(12, ours ? QFont::DemiBold : QFont::Normal),
          ours ? c.theme.text : c.theme.dim);
  }
}

void drawTokens(const PositionsCanvas& c) {
  const auto count = static_cast<int>(c.table.cells.size());
  const int across = c.layout.across();
  for (int band = 0; band < c.layout.bands(); ++band) {
    const int begin = c.first + band * across, end = std::min(count, begin + across);
    const double top = c.layout.tokensTop() + band * kBand;
    if (begin >= end) return;
    drawLaneNames(c, top);
    double right = c.area.right();
    for (int i = end - 1; i >= begin; --i) {
      const TokenCell& cell = c.table.cells[static_cast<std::size_t>(i)];
      const double x = c.area.left() + kPositionsLeft + kCell * (i - begin);
      if (isBorder(cell)) {
        drawBorder(c, x, top, cell, right - x);
        right = x;
      }
      drawToken(c, cell, x, top, i + 1 < end);
      if (i == c.selected) drawSelection(c, tokenColumn(x, top));
    }
  }
}

}  // namespace

int visibleTokens(const QRectF& area, const PositionsScene& scene) {
  return PositionsLayout(area, scene).visible();
}

int clampedFirst(int first, const QRectF& area, const PositionsScene& scene) {
  const auto count = static_cast<int>(scene.table.cells.size());
  return std::clamp(first, 0, std::max(0, count - visibleTokens(area, scene)));
}

void paintPositions(QPainter& painter, const QRectF& area, const PositionsScene& scene, int first,
                    const Theme& theme) {
  painter.fillRect(area, theme.background);
  if (!scene.note.empty()) return paintNote(painter, area, scene.note, theme);
  const PositionsCanvas canvas{painter,
                               area,
                               scene.table,
                               PositionsLayout(area, scene),
                               clampedFirst(first, area, scene),
                               scene.selected,
                               theme};
  drawHead(canvas);
  paintPositionStrip(painter, canvas.layout.strip(), *scene.strip, theme);
  drawBuffers(canvas);
  drawTokens(canvas);
}

std::optional<int> positionsTokenHit(const QPointF& point, const QRectF& area,
                                     const PositionsScene& scene, int first) {
  if (!scene.note.empty()) return std::nullopt;
  const PositionsLayout layout(area, scene);
  first = clampedFirst(first, area, scene);
  const auto count = static_cast<int>(scene.table.cells.size());
  for (int i = first; i < std::min(count, first + layout.visible()); ++i) {
    const int band = (i - first) / layout.across(), column = (i - first) % layout.across();
    const double x = area.left() + kPositionsLeft + kCell * column;
    if (tokenColumn(x, layout.tokensTop() + band * kBand).contains(point)) return i;
  }
  return std::nullopt;
}

std::optional<PositionsHit> positionsHit(const QPointF& point, const QRectF& area,
                                         const PositionsScene& scene) {
  if (!scene.note.empty() || scene.strip->rows.empty()) return std::nullopt;
  const QRectF strip = PositionsLayout(area, scene).strip();
  const auto& rows = scene.strip->rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StripRow at = positionStripRow(strip, rows.size(), i);
    if (!at.name.united(at.bar).adjusted(0, 0, 0, 4).contains(point)) continue;
    return PositionsHit{rows[i].rank,
                        std::clamp((point.x() - at.bar.left()) / at.bar.width(), 0.0, 1.0)};
  }
  return std::nullopt;
}

}  // namespace ringscope::viz
