// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tensor/tensor_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/style/colormap.h"
#include "viz/style/elide.h"

namespace ringscope::viz {
namespace {

constexpr double kValueCell = 44;
constexpr double kSmallestCell = 2, kLargestCell = 64, kSmallestFit = 8, kLargestFit = 48;

QColor colorOf(const ValueRange& r, double value) {
  if (r.low < 0 && r.high > 0) return signedColor(value / std::max(-r.low, r.high));
  return magnitudeColor(r.share(value));
}

/// x of a value over the histogram, and back.
double rangeX(const QRectF& range, const ValueHistogram& h, double value) {
  const double share = h.high > h.low ? (value - h.low) / (h.high - h.low) : 0.5;
  return range.left() + range.width() * std::clamp(share, 0.0, 1.0);
}

double rangeValue(const QRectF& range, const ValueHistogram& h, double x) {
  return h.low + (h.high - h.low) * std::clamp((x - range.left()) / range.width(), 0.0, 1.0);
}

/// How many rows and columns fit into the matrix's area.
std::int64_t visibleRows(const QRectF& matrix, const TensorSlice& slice, const TensorLook& look) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(matrix.height() / look.cell), 0,
                                  slice.rows - look.first_row);
}

std::int64_t visibleColumns(const QRectF& matrix, const TensorSlice& slice,
                            const TensorLook& look) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(matrix.width() / look.cell), 0,
                                  slice.columns - look.first_column);
}

/// The matrix's colours under the values that they stand for.
void drawScale(QPainter& p, const QRectF& strip, const ValueHistogram& h, const ValueRange& range) {
  constexpr int kSteps = 96;
  const double pitch = strip.width() / kSteps;
  for (int i = 0; i < kSteps; ++i)
    p.fillRect(QRectF(strip.left() + i * pitch, strip.top(), pitch + 0.5, strip.height()),
               colorOf(range, h.low + (h.high - h.low) * (i + 0.5) / kSteps));
}

void drawRange(QPainter& p, const QRectF& box, const ValueHistogram& h, const ValueRange& range,
               const Theme& theme) {
  const QRectF bars = box.adjusted(0, 2, 0, -18);
  const auto most = h.bins.empty() ? 0 : *std::max_element(h.bins.begin(), h.bins.end());
  const double pitch = bars.width() / static_cast<double>(std::max<std::size_t>(1, h.bins.size()));
  p.setPen(Qt::NoPen);
  for (std::size_t b = 0; b < h.bins.size(); ++b) {
    const double middle = h.low + (h.high - h.low) * (static_cast<double>(b) + 0.5) /
                                      static_cast<double>(h.bins.size());
    const double share = most ? static_cast<double>(h.bins[b]) / static_cast<double>(most) : 0;
    const QRectF bar(bars.left() + static_cast<double>(b) * pitch,
                     bars.bottom() - std::max(h.bins[b] ? 1.5 : 0.0, share * bars.height()),
                     std::max(1.0, pitch - 1),
                     std::max(h.bins[b] ? 1.5 : 0.0, share * bars.height()));
    p.setBrush(middle < range.low || middle > range.high ? theme.faint : theme.accent);
    p.drawRect(bar);
  }
  p.setPen(QPen(theme.line, 1));
  p.drawLine(bars.bottomLeft(), bars.bottomRight());
  drawScale(p, QRectF(bars.left(), bars.bottom() + 1, bars.width(), 5), h, range);
  p.setFont(monoFont(11));
  for (const bool low : {true, false}) {
    const double value = low ? range.low : range.high;
    const double x = rangeX(box, h, value);
    p.setPen(QPen(theme.text, 1.5));
    p.drawLine(QPointF(x, bars.top()), QPointF(x, bars.bottom() + 2));
    p.setPen(Qt::NoPen);
    p.setBrush(theme.text);
    p.drawPolygon(QPolygonF{QPointF(x, bars.bottom()), QPointF(x - 6, bars.bottom() + 9),
                            QPointF(x + 6, bars.bottom() + 9)});
    p.setPen(theme.dim);
    const QRectF label(low ? x + 10 : x - 110, bars.bottom() + 2, 100, 16);
    p.drawText(label, (low ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
               QString::number(value, 'g', 4));
  }
}

void drawCell(QPainter& p, const QRectF& box, const ValueRange& range, double value,
              const Theme& theme) {
  if (std::isfinite(value)) {
    p.fillRect(box, colorOf(range, value));
  } else {
    p.fillRect(box, theme.raised);
    p.setPen(QPen(theme.wrong, 1.5));
    p.drawLine(box.topLeft(), box.bottomRight());
    p.drawLine(box.topRight(), box.bottomLeft());
  }
  if (box.width() < kValueCell) return;
  const QColor ground = std::isfinite(value) ? colorOf(range, value) : theme.raised;
  write(p, box, QString::number(value, 'g', 3), monoFont(11),
        contrast(ground, Qt::black) > contrast(ground, Qt::white) ? Qt::black : Qt::white,
        Qt::AlignCenter);
}

/// Row and column numbers along the edges, as many as have room.
void drawIndices(QPainter& p, const QRectF& matrix, const TensorSlice& slice,
                 const TensorLook& look, const Theme& theme) {
  p.setFont(monoFont(11));
  p.setPen(theme.dim);
  const auto row_pitch = static_cast<std::int64_t>(std::ceil(15 / look.cell));
  for (std::int64_t r = 0; r < visibleRows(matrix, slice, look); r += row_pitch)
    p.drawText(QRectF(matrix.left() - 52, matrix.top() + static_cast<double>(r) * look.cell, 46,
                      std::max(14.0, look.cell)),
               Qt::AlignRight | Qt::AlignVCenter, QString::number(look.first_row + r));
  const auto column_pitch = static_cast<std::int64_t>(std::ceil(32 / look.cell));
  for (std::int64_t c = 0; c < visibleColumns(matrix, slice, look); c += column_pitch)
    p.drawText(QRectF(matrix.left() + static_cast<double>(c) * look.cell, matrix.top() - 16,
                      std::max(30.0, look.cell), 14),
               Qt::AlignLeft | Qt::AlignVCenter, QString::number(look.first_column + c));
}

void drawMatrix(QPainter& p, const QRectF& matrix, const TensorSlice& slice, const TensorLook& look,
                const Theme& theme) {
  auto box = [&](std::int64_t r, std::int64_t c) {
    return QRectF(matrix.left() + static_cast<double>(c - look.first_column) * look.cell,
                  matrix.top() + static_cast<double>(r - look.first_row) * look.cell, look.cell,
                  look.cell);
  };
  p.setRenderHint(QPainter::Antialiasing, look.cell >= 16);
  const std::int64_t rows = look.first_row + visibleRows(matrix, slice, look);
  const std::int64_t columns = look.first_column + visibleColumns(matrix, slice, look);
  for (std::int64_t r = look.first_row; r < rows; ++r)
    for (std::int64_t c = look.first_column; c < columns; ++c)
      drawCell(p, box(r, c), look.range, slice.at(r, c), theme);
  p.setRenderHint(QPainter::Antialiasing);
  drawIndices(p, matrix, slice, look, theme);
  const QRectF chosen = box(look.row, look.column);
  if (!matrix.adjusted(-1, -1, 1, 1).contains(chosen.center())) return;
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(theme.background, 3));
  p.drawRect(chosen.adjusted(-2, -2, 2, 2));
  p.setPen(QPen(theme.text, 1.5));
  p.drawRect(chosen.adjusted(-2, -2, 2, 2));
}

void drawHead(QPainter& p, const QRectF& area, const TensorScene& scene, const Theme& theme) {
  const QRectF box(area.left() + 8, area.top() + 10, area.width() - 8, 24);
  QString index;
  for (const auto i : scene.lead) index += QString("%1, ").arg(i);
  paintTitle(p, box,
             QString("%1 %2 · rank %3")
                 .arg(text(scene.name), scene.lead.empty() ? "" : "[" + index + ":, :]")
                 .arg(scene.rank.value()),
             theme.text);
  writeElided(
      p, QRectF(box.left(), area.top() + 36, box.width(), 20),
      text(scene.where) + " · arrows: cell · [ ]: slice · A: auto-fit · + −: zoom · drag the range",
      textFont(12), scene.live ? theme.accent : theme.dim);
}

/// The picked cell in digits, and what is not finite.
void drawPicked(QPainter& p, const QRectF& area, const TensorScene& scene, const TensorLook& look,
                const Theme& theme) {
  p.setFont(monoFont(12));
  p.setPen(theme.text);
  QString words = QString("[%1, %2] = %3")
                      .arg(look.row)
                      .arg(look.column)
                      .arg(scene.slice.at(look.row, look.column), 0, 'g', 9);
  const ValueHistogram& h = scene.histogram;
  if (h.nan + h.inf > 0) words += QString("   ▲ %1 NaN, %2 Inf").arg(h.nan).arg(h.inf);
  p.drawText(QRectF(area.left() + 56, area.bottom() - 24, area.width() - 56, 20), Qt::AlignVCenter,
             words);
}

TensorLook clamped(const TensorScene& scene, TensorLook look) {
  const std::int64_t last_row = std::max<std::int64_t>(0, scene.slice.rows - 1);
  const std::int64_t last_column = std::max<std::int64_t>(0, scene.slice.columns - 1);
  look.first_row = std::clamp<std::int64_t>(look.first_row, 0, last_row);
  look.first_column = std::clamp<std::int64_t>(look.first_column, 0, last_column);
  look.row = std::clamp<std::int64_t>(look.row, 0, last_row);
  look.column = std::clamp<std::int64_t>(look.column, 0, last_column);
  return look;
}

}  // namespace

QRectF tensorCanvas(const QRectF& area) {
  return area.adjusted(0, 64, 0, -4);
}

TensorAreas tensorAreas(const QRectF& area) {
  return {QRectF(area.left() + 56, area.top(), area.width() - 64, 74),
          QRectF(area.left() + 56, area.top() + 100, area.width() - 64, area.height() - 128)};
}

TensorLook wholeSlice(const TensorScene& scene, const TensorLook& before, const QRectF& matrix) {
  TensorLook look = before;
  look.range = scene.range;
  look.dragged = 0;
  if (scene.slice.values.empty()) return look;
  look.cell = std::clamp(std::min(matrix.width() / static_cast<double>(scene.slice.columns),
                                  matrix.height() / static_cast<double>(scene.slice.rows)),
                         kSmallestFit, kLargestFit);
  return clamped(scene, look);
}

TensorLook picked(const TensorScene& scene, TensorLook look, std::int64_t row, std::int64_t column,
                  const QRectF& matrix) {
  if (scene.slice.values.empty()) return look;
  look.row = std::clamp<std::int64_t>(row, 0, scene.slice.rows - 1);
  look.column = std::clamp<std::int64_t>(column, 0, scene.slice.columns - 1);
  const auto rows = static_cast<std::int64_t>(matrix.height() / look.cell);
  const auto columns = static_cast<std::int64_t>(matrix.width() / look.cell);
  look.first_row = std::clamp(look.first_row, look.row - rows + 1, look.row);
  look.first_column = std::clamp(look.first_column, look.column - columns + 1, look.column);
  return clamped(scene, look);
}

TensorLook scrolled(const TensorScene& scene, TensorLook look, std::int64_t rows) {
  look.first_row += rows;
  return clamped(scene, look);
}

TensorLook zoomed(const TensorScene& scene, TensorLook look, double steps, const QRectF& matrix) {
  look.cell = std::clamp(look.cell * std::pow(1.25, steps), kSmallestCell, kLargestCell);
  return picked(scene, look, look.row, look.column, matrix);
}

TensorLook pressed(const TensorScene& scene, TensorLook look, const QPointF& point,
                   const QRectF& canvas) {
  const TensorAreas areas = tensorAreas(canvas);
  look.dragged = 0;
  if (areas.range.adjusted(-8, 0, 8, 10).contains(point)) {
    const double low = rangeX(areas.range, scene.histogram, look.range.low);
    const double high = rangeX(areas.range, scene.histogram, look.range.high);
    look.dragged = std::abs(point.x() - low) < std::abs(point.x() - high) ? -1 : 1;
    return dragged(scene, look, point, canvas);
  }
  if (!areas.matrix.contains(point)) return look;
  const QPointF cells = (point - areas.matrix.topLeft()) / look.cell;
  return picked(scene, look, look.first_row + static_cast<std::int64_t>(cells.y()),
                look.first_column + static_cast<std::int64_t>(cells.x()), areas.matrix);
}

TensorLook dragged(const TensorScene& scene, TensorLook look, const QPointF& point,
                   const QRectF& canvas) {
  const double value = rangeValue(tensorAreas(canvas).range, scene.histogram, point.x());
  if (look.dragged < 0) look.range.low = std::min(value, look.range.high);
  if (look.dragged > 0) look.range.high = std::max(value, look.range.low);
  return look;
}

void paintTensor(QPainter& p, const QRectF& area, const TensorScene& scene, const TensorLook& look,
                 const Theme& theme) {
  p.save();
  p.fillRect(area, theme.background);
  const QRectF canvas = tensorCanvas(area);
  if (!scene.name.empty()) drawHead(p, area, scene, theme);
  if (scene.slice.values.empty()) {
    paintNote(p, canvas, scene.note, theme);
  } else {
    const TensorAreas areas = tensorAreas(canvas);
    drawRange(p, areas.range, scene.histogram, look.range, theme);
    drawMatrix(p, areas.matrix, scene.slice, look, theme);
    drawPicked(p, area, scene, look, theme);
  }
  p.restore();
}

}  // namespace ringscope::viz
