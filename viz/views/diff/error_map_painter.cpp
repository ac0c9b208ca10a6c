// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/diff/error_map_painter.h"

#include <QImage>
#include <algorithm>
#include <cmath>

#include "traces/format/schema/records.h"
#include "viz/kit/page.h"
#include "viz/style/colormap.h"
#include "viz/style/face.h"

namespace ringscope::viz {
namespace {

constexpr int kBinsADecade = 6;
constexpr double kErrorMapScale = 10;  // height of the strip of colours

/// Returns the error that counts as 1: the limit, one unit roundoff as an absolute or relative
/// error, or one ULP.
double unitOf(ErrorUnit unit) {
  return unit == ErrorUnit::kUlp || unit == ErrorUnit::kLimit ? 1.0 : 0x1p-23;
}

const char* unitName(ErrorUnit unit) {
  return unit == ErrorUnit::kLimit      ? "× limit"
         : unit == ErrorUnit::kAbsolute ? "× 2⁻²³"
         : unit == ErrorUnit::kRelative ? "× 2⁻²³ of the reference"
                                        : "ULP";
}

bool isWrong(double value, ErrorUnit unit) {
  return !std::isfinite(value) || (unit == ErrorUnit::kLimit && value > 1);
}

QColor cellColor(double value, ErrorUnit unit, double decades, const Theme& theme) {
  if (isWrong(value, unit)) return theme.wrong;
  const double share = value / unitOf(unit);
  return magnitudeColor(share <= 0.1 ? 0 : (std::log10(share) + 1) / (decades + 1));
}

/// As many powers of ten above one unit as the largest value needs.
int decadesOf(const ErrorMap& map, ErrorUnit unit) {
  double largest = 0;
  for (const double v : map.values)
    if (std::isfinite(v)) largest = std::max(largest, v);
  const double share = largest / unitOf(unit);
  return std::clamp(share > 1 ? static_cast<int>(std::ceil(std::log10(share))) : 1, 1, 12);
}

QImage imageOf(const ErrorMap& map, ErrorUnit unit, const Theme& theme) {
  QImage image(static_cast<int>(map.positions), static_cast<int>(map.heads), QImage::Format_RGB32);
  const int decades = decadesOf(map, unit);
  for (std::int64_t h = 0; h < map.heads; ++h)
    for (std::int64_t s = 0; s < map.positions; ++s)
      image.setPixelColor(static_cast<int>(s), static_cast<int>(h),
                          cellColor(map.values[static_cast<std::size_t>(h * map.positions + s)],
                                    unit, decades, theme));
  return image;
}

/// The map's colours along the axis of the histogram.
void drawScale(QPainter& p, const QRectF& strip, const ErrorMap& map, ErrorUnit unit,
               const Theme& theme) {
  const int decades = decadesOf(map, unit);
  const int steps = (decades + 1) * kBinsADecade;
  const double pitch = strip.width() / steps;
  for (int i = 0; i < steps; ++i) {
    const double value = unitOf(unit) * std::pow(10, (i + 0.5) / kBinsADecade - 1);
    p.fillRect(QRectF(strip.left() + i * pitch, strip.top(), pitch + 0.5, strip.height()),
               cellColor(value, unit, decades, theme));
  }
  write(p, QRectF(strip.left() - 54, strip.center().y() - 9, 48, 18), "colour", textFont(11),
        theme.dim, Qt::AlignVCenter | Qt::AlignRight);
}

}  // namespace

void paintErrorMap(QPainter& p, const QRectF& area, const ErrorMap& map, ErrorUnit unit,
                   const Theme& theme) {
  const QRectF box = area.adjusted(54, 0, 0, -34);
  p.save();
  p.setRenderHint(QPainter::SmoothPixmapTransform, false);
  p.drawImage(box, imageOf(map, unit, theme));
  p.setFont(monoFont(11));
  p.setPen(theme.dim);
  const double pitch = box.height() / static_cast<double>(map.heads);
  const auto every = static_cast<std::int64_t>(std::ceil(15 / std::max(1.0, pitch)));
  for (std::int64_t h = 0; h < map.heads; h += every)
    p.drawText(QRectF(area.left(), box.top() + static_cast<double>(h) * pitch, 48,
                      pitch * static_cast<double>(every)),
               Qt::AlignTop | Qt::AlignRight, QString("head %1").arg(h));
  for (const OwnedSpan& span : map.owners) {
    auto x = [&](std::int64_t s) {
      return box.left() + box.width() * static_cast<double>(s) / static_cast<double>(map.positions);
    };
    p.setPen(QPen(theme.text, 1));
    if (span.begin > 0)
      p.drawLine(QPointF(x(span.begin), box.top()), QPointF(x(span.begin), box.bottom() + 4));
    paintFace(p, QRectF(x(span.begin) + 1, box.bottom() + 4, x(span.end) - x(span.begin) - 2, 18),
              span.rank, QString::number(span.rank.value()), theme);
  }
  p.restore();
}

void paintErrorHistogram(QPainter& p, const QRectF& area, const ErrorMap& map, ErrorUnit unit,
                         const Theme& theme) {
  const int decades = decadesOf(map, unit);
  const auto bins = logHistogram(map.values, unitOf(unit), decades, kBinsADecade);
  const auto most = *std::max_element(bins.begin(), bins.end());
  const QRectF box = area.adjusted(54, 0, 0, -20 - kErrorMapScale);
  const double pitch = box.width() / static_cast<double>(bins.size());
  const double bars = std::max(8.0, box.height() - 16);  // under the line that says what they are
  const int limit = unit == ErrorUnit::kLimit ? kBinsADecade - 1 : static_cast<int>(bins.size());
  p.save();
  p.setPen(Qt::NoPen);
  for (std::size_t b = 0; b < bins.size(); ++b) {
    const double share =
        most ? std::log1p(static_cast<double>(bins[b])) / std::log1p(static_cast<double>(most)) : 0;
    p.setBrush(static_cast<int>(b) > limit ? theme.wrong : theme.accent);
    p.drawRect(QRectF(box.left() + static_cast<double>(b) * pitch, box.bottom() - share * bars,
                      pitch - 1, share * bars));
  }
  p.setPen(QPen(theme.line, 1));
  p.drawLine(box.bottomLeft(), box.bottomRight());
  drawScale(p, QRectF(box.left(), box.bottom() + 2, box.width(), kErrorMapScale - 2), map, unit,
            theme);
  p.setFont(monoFont(11));
  p.setPen(theme.dim);
  const int every = decades > 6 ? 2 : 1;
  for (int d = 0; d <= decades; d += every) {
    const double x = box.left() + pitch * kBinsADecade * d;
    p.drawText(QRectF(x - 30, box.bottom() + kErrorMapScale + 3, 60, 16), Qt::AlignCenter,
               d == 0   ? "0.1"
               : d <= 4 ? QString::number(std::pow(10, d - 1))
                        : QString("1e%1").arg(d - 1));
  }
  p.setFont(textFont(11));
  p.drawText(QRectF(box.left(), box.top() - 2, box.width(), 16), Qt::AlignRight,
             QString("rows by largest error, %1 (counts logarithmic)").arg(unitName(unit)));
  p.restore();
}

}  // namespace ringscope::viz
