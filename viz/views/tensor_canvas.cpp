// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tensor_canvas.h"

#include <algorithm>
#include <cmath>

#include "viz/style/colormap.h"

namespace ringscope::viz {
namespace {

constexpr std::size_t kBins = 80;
constexpr double kValueCell = 44;
constexpr double kSmallestCell = 2, kLargestCell = 64, kSmallestFit = 8, kLargestFit = 48;

QColor colorOf(const TensorPicture& picture, double value) {
  const ValueRange& r = picture.range;
  if (r.low < 0 && r.high > 0) return signedColor(value / std::max(-r.low, r.high));
  return magnitudeColor(r.share(value));
}

void paintRange(QPainter& p, const QRectF& box, const TensorPicture& picture, const Theme& theme) {
  const auto& h = picture.histogram;
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
    p.setBrush(middle < picture.range.low || middle > picture.range.high ? theme.faint
                                                                         : theme.accent);
    p.drawRect(bar);
  }
  p.setPen(QPen(theme.line, 1));
  p.drawLine(bars.bottomLeft(), bars.bottomRight());
  p.setFont(monoFont(11));
  for (const bool low : {true, false}) {
    const double value = low ? picture.range.low : picture.range.high;
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

void paintCell(QPainter& p, const QRectF& box, const TensorPicture& picture, double value,
               const Theme& theme) {
  if (std::isfinite(value)) {
    p.fillRect(box, colorOf(picture, value));
  } else {
    p.fillRect(box, theme.raised);
    p.setPen(QPen(theme.wrong, 1.5));
    p.drawLine(box.topLeft(), box.bottomRight());
    p.drawLine(box.topRight(), box.bottomLeft());
  }
  if (box.width() < kValueCell) return;
  const QColor ground = std::isfinite(value) ? colorOf(picture, value) : theme.raised;
  p.setPen(contrast(ground, Qt::black) > contrast(ground, Qt::white) ? Qt::black : Qt::white);
  p.setFont(monoFont(11));
  p.drawText(box, Qt::AlignCenter, QString::number(value, 'g', 3));
}

/// Row and column numbers along the edges, as many as have room.
void paintIndices(QPainter& p, const QRectF& matrix, const TensorPicture& picture,
                  const Theme& theme) {
  p.setFont(monoFont(11));
  p.setPen(theme.dim);
  const auto row_pitch = static_cast<std::int64_t>(std::ceil(15 / picture.cell));
  for (std::int64_t r = 0; r < visibleRows(matrix, picture); r += row_pitch)
    p.drawText(QRectF(matrix.left() - 52, matrix.top() + static_cast<double>(r) * picture.cell, 46,
                      std::max(14.0, picture.cell)),
               Qt::AlignRight | Qt::AlignVCenter, QString::number(picture.first_row + r));
  const auto column_pitch = static_cast<std::int64_t>(std::ceil(32 / picture.cell));
  for (std::int64_t c = 0; c < visibleColumns(matrix, picture); c += column_pitch)
    p.drawText(QRectF(matrix.left() + static_cast<double>(c) * picture.cell, matrix.top() - 16,
                      std::max(30.0, picture.cell), 14),
               Qt::AlignLeft | Qt::AlignVCenter, QString::number(picture.first_column + c));
}

}  // namespace

void TensorPicture::show(TensorSlice shown, const QRectF& matrix) {
  slice = std::move(shown);
  fit();
  if (slice.values.empty()) return;
  cell = std::clamp(std::min(matrix.width() / static_cast<double>(slice.columns),
                             matrix.height() / static_cast<double>(slice.rows)),
                    kSmallestFit, kLargestFit);
  clamp();
}

void TensorPicture::fit() {
  histogram = valueHistogram(slice.values, kBins);
  range = autoFit(slice.values);
}

void TensorPicture::pick(std::int64_t to_row, std::int64_t to_column, const QRectF& matrix) {
  if (slice.values.empty()) return;
  row = std::clamp<std::int64_t>(to_row, 0, slice.rows - 1);
  column = std::clamp<std::int64_t>(to_column, 0, slice.columns - 1);
  const auto rows = static_cast<std::int64_t>(matrix.height() / cell);
  const auto columns = static_cast<std::int64_t>(matrix.width() / cell);
  first_row = std::clamp(first_row, row - rows + 1, row);
  first_column = std::clamp(first_column, column - columns + 1, column);
  clamp();
}

void TensorPicture::scroll(std::int64_t rows) {
  first_row += rows;
  clamp();
}

void TensorPicture::zoom(double steps, const QRectF& matrix) {
  cell = std::clamp(cell * std::pow(1.25, steps), kSmallestCell, kLargestCell);
  pick(row, column, matrix);
}

void TensorPicture::clamp() {
  const std::int64_t last_row = std::max<std::int64_t>(0, slice.rows - 1);
  const std::int64_t last_column = std::max<std::int64_t>(0, slice.columns - 1);
  first_row = std::clamp<std::int64_t>(first_row, 0, last_row);
  first_column = std::clamp<std::int64_t>(first_column, 0, last_column);
  row = std::clamp<std::int64_t>(row, 0, last_row);
  column = std::clamp<std::int64_t>(column, 0, last_column);
}

TensorAreas tensorAreas(const QRectF& area) {
  return {QRectF(area.left() + 56, area.top(), area.width() - 64, 74),
          QRectF(area.left() + 56, area.top() + 100, area.width() - 64, area.height() - 128)};
}

std::int64_t visibleRows(const QRectF& matrix, const TensorPicture& picture) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(matrix.height() / picture.cell), 0,
                                  picture.slice.rows - picture.first_row);
}

std::int64_t visibleColumns(const QRectF& matrix, const TensorPicture& picture) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(matrix.width() / picture.cell), 0,
                                  picture.slice.columns - picture.first_column);
}

double rangeX(const QRectF& range, const ValueHistogram& h, double value) {
  const double share = h.high > h.low ? (value - h.low) / (h.high - h.low) : 0.5;
  return range.left() + range.width() * std::clamp(share, 0.0, 1.0);
}

double rangeValue(const QRectF& range, const ValueHistogram& h, double x) {
  return h.low + (h.high - h.low) * std::clamp((x - range.left()) / range.width(), 0.0, 1.0);
}

void paintTensor(QPainter& p, const QRectF& area, const TensorPicture& picture,
                 const Theme& theme) {
  const TensorAreas areas = tensorAreas(area);
  p.save();
  paintRange(p, areas.range, picture, theme);
  const QRectF& matrix = areas.matrix;
  auto box = [&](std::int64_t r, std::int64_t c) {
    return QRectF(matrix.left() + static_cast<double>(c - picture.first_column) * picture.cell,
                  matrix.top() + static_cast<double>(r - picture.first_row) * picture.cell,
                  picture.cell, picture.cell);
  };
  p.setRenderHint(QPainter::Antialiasing, picture.cell >= 16);
  for (std::int64_t r = 0; r < visibleRows(matrix, picture); ++r)
    for (std::int64_t c = 0; c < visibleColumns(matrix, picture); ++c)
      paintCell(p, box(picture.first_row + r, picture.first_column + c), picture,
                picture.slice.at(picture.first_row + r, picture.first_column + c), theme);
  p.setRenderHint(QPainter::Antialiasing);
  paintIndices(p, matrix, picture, theme);
  const QRectF picked = box(picture.row, picture.column);
  if (matrix.adjusted(-1, -1, 1, 1).contains(picked.center())) {
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(theme.background, 3));
    p.drawRect(picked.adjusted(-2, -2, 2, 2));
    p.setPen(QPen(theme.text, 1.5));
    p.drawRect(picked.adjusted(-2, -2, 2, 2));
  }
  p.restore();
}

}  // namespace ringscope::viz
