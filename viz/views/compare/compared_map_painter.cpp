// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/compare/compared_map_painter.h"

#include <algorithm>
#include <cmath>

#include "viz/kit/page.h"
#include "viz/scene/units.h"
#include "viz/style/colormap.h"

namespace ringscope::viz {
namespace {

constexpr double kBody = 96, kMostLine = 24, kAxis = 16, kMapScale = 22, kMapSentence = 36;
constexpr double kMapLabels = 56, kWideLabels = 88, kLabel = 15;

/// The lines of the map alone, without what stands about them.
QRectF bodyOf(const QRectF& box, const ComparedMap& map) {
  const bool wide = std::ranges::any_of(
      map.lines, [](const std::string& line) { return line.find(',') != std::string::npos; });
  const double left = wide ? kWideLabels : kMapLabels;
  const double height =
      std::min(kBody, kMostLine * static_cast<double>(std::max<std::size_t>(1, map.lines.size())));
  return {box.left() + left, box.top() + kPartTitle, box.width() - left, height};
}

QBrush lackingBrush(const Theme& theme) {
  return {theme.faint, Qt::BDiagPattern};
}

QColor equalColor(const Theme& theme) {
  return theme.raised;
}

/// Returns the colour of a difference. Rows that were not compared show the hatched ground.
QColor colorOf(const std::optional<double>& level, const Theme& theme) {
  if (!level) return Qt::transparent;
  if (std::isinf(*level)) return theme.wrong;
  return *level == 0 ? equalColor(theme) : magnitudeColor(*level);
}

void paintLabels(QPainter& p, const QRectF& body, const ComparedMap& map, double left,
                 const Theme& theme) {
  p.setFont(textFont(11));
  p.setPen(theme.dim);
  const double pitch = body.height() / static_cast<double>(map.lines.size());
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(kLabel / pitch)));
  for (std::size_t i = 0; i < map.lines.size(); i += every)
    p.drawText(QRectF(left, body.top() + static_cast<double>(i) * pitch, body.left() - left - 8,
                      std::max(pitch, kLabel)),
               Qt::AlignRight | Qt::AlignVCenter, text(map.lines[i]));
}

/// Tokens under the columns: the first, the last, and some between.
void paintAxis(QPainter& p, const QRectF& body, const ComparedMap& map, const Theme& theme) {
  constexpr double kBetween = 120;
  const auto& tokens = map.map->tokens;
  const auto parts = std::max<std::size_t>(
      1, std::min(tokens.size() - 1, static_cast<std::size_t>(body.width() / kBetween)));
  p.setFont(monoFont(11));
  p.setPen(theme.faint);
  for (std::size_t i = 0; i <= parts && i < tokens.size(); ++i) {
    const std::size_t at = (tokens.size() - 1) * i / parts;
    const double x = body.left() + body.width() * (static_cast<double>(at) + 0.5) /
                                       static_cast<double>(tokens.size());
    const QString label = (i == 0 ? "token " : "") + text(toString(tokens[at]));
    const double width = p.fontMetrics().horizontalAdvance(label) + 2;
    const double left = std::clamp(x - width / 2, body.left(), body.right() - width);
    p.drawText(QRectF(left, body.bottom() + 1, width, kAxis - 2), Qt::AlignCenter, label);
  }
}

/// The next piece of the legend; returns where the one after it begins.
double paintKey(QPainter& p, double x, double y, const QBrush& color, const QString& label,
                const Theme& theme) {
  p.setPen(QPen(theme.line, 1));
  p.setBrush(color);
  p.drawRect(QRectF(x, y + 3, 12, 10));
  p.setPen(theme.dim);
  p.setFont(textFont(11));
  const double width = p.fontMetrics().horizontalAdvance(label) + 2;
  p.drawText(QRectF(x + 18, y, width, 16), Qt::AlignVCenter, label);
  return x + 18 + width + 16;
}

/// The colours between the powers of ten, and what equal runs differ by.
double paintColors(QPainter& p, double x, double y, const ComparedMap& map, const Theme& theme) {
  constexpr int kSteps = 64;
  constexpr double kWidth = 160;
  p.setFont(monoFont(11));
  p.setPen(theme.dim);
  const auto say = [&](double value, const QString& after) {
    const QString label = text(traces::describeSignificant(value, 2)) + after;
    const double width = p.fontMetrics().horizontalAdvance(label) + 2;
    p.drawText(QRectF(x, y, width, 16), Qt::AlignVCenter, label);
    x += width + 6;
  };
  say(map.low, {});
  const QRectF strip(x, y + 3, kWidth, 10);
  for (int i = 0; i < kSteps; ++i)
    p.fillRect(QRectF(strip.left() + kWidth * i / kSteps, strip.top(), kWidth / kSteps + 0.5, 10),
               magnitudeColor((i + 0.5) / kSteps));
  if (map.floor && *map.floor > map.low && *map.floor < map.high) {
    const double at = std::log10(*map.floor / map.low) / std::log10(map.high / map.low);
    p.setPen(QPen(theme.text, 2));
    p.drawLine(QPointF(strip.left() + kWidth * at, y), QPointF(strip.left() + kWidth * at, y + 16));
    p.setPen(theme.dim);
  }
  x = strip.right() + 6;
  say(map.high, map.unit.empty() ? "" : " " + text(map.unit));
  return x + 10;
}

void paintLegend(QPainter& p, const QRectF& body, double y, const ComparedMap& map,
                 const Theme& theme) {
  double x = paintKey(p, body.left(), y, equalColor(theme), "equal", theme);
  if (map.unit.empty())
    x = paintKey(p, x, y, magnitudeColor(1), "differs", theme);
  else
    x = paintColors(p, x, y, map, theme);
  if (map.has_infinite) x = paintKey(p, x, y, theme.wrong, "finite in one alone", theme);
  if (map.has_lacking) x = paintKey(p, x, y, lackingBrush(theme), "not compared", theme);
  if (!map.floor || map.unit.empty()) return;
  p.setFont(textFont(11));
  p.setPen(theme.dim);
  const QString label = "equal runs up to " + text(traces::describeSignificant(*map.floor, 2));
  if (x + p.fontMetrics().horizontalAdvance(label) < body.right())
    p.drawText(QRectF(x, y, body.right() - x, 16), Qt::AlignVCenter, label);
}

double sentenceHeight(double width, const ComparedMap& map) {
  return std::max(kMapSentence, wrappedHeight(text(map.largest), textFont(12), width) + 6);
}

QStringList lacksOf(const ComparedMap& map) {
  QStringList all;
  for (const std::string& sentence : map.lacks) all << "– " + text(sentence);
  return all;
}

}  // namespace

double comparedMapHeight(double width, const ComparedMap& map) {
  if (map.title.empty()) return 0;
  if (map.empty() && !map.reading)
    return kPartTitle + wrappedHeight(text(map.note), textFont(12), width);
  double height = kPartTitle + kBody + kAxis + kMapScale + sentenceHeight(width, map);
  for (const QString& sentence : lacksOf(map))
    height += wrappedHeight(sentence, textFont(12), width) + 2;
  return height;
}

void ComparedMapPainter::fold(const QRectF& box, const ComparedMap& map) {
  const QSize size = bodyOf(box, map).size().toSize().expandedTo({1, 1});
  if (of_ == map.map && size_ == size) return;
  of_ = map.map;
  size_ = size;
  image_ = {};
  folded_ = folded(*map.map, static_cast<std::size_t>(size.width()),
                   static_cast<std::size_t>(size.height()));
}

void ComparedMapPainter::color(const ComparedMap& map, const Theme& theme) {
  if (!image_.isNull() && theme_ == theme.name) return;
  theme_ = theme.name;
  image_ = QImage(static_cast<int>(folded_.columns), static_cast<int>(folded_.lines),
                  QImage::Format_ARGB32);
  std::size_t at = 0;
  for (int y = 0; y < image_.height(); ++y)
    for (int x = 0; x < image_.width(); ++x)
      image_.setPixelColor(x, y, colorOf(map.level(map.map->rows[folded_.worst[at++]]), theme));
}

/// Returns the box of a row. Rows that share a pixel have the same box.
QRectF ComparedMapPainter::rowBox(const QRectF& body, const ComparedMap& map,
                                  std::size_t row) const {
  const std::size_t tokens = map.map->tokens.size(), lines = map.lines.size();
  const auto stretch = [](std::size_t at, std::size_t all, double from, double extent) {
    return std::pair(from + extent * static_cast<double>(at) / static_cast<double>(all),
                     std::max(2.0, extent / static_cast<double>(all)));
  };
  const auto [x, width] = stretch(row % tokens, tokens, body.left(), body.width());
  const auto [y, height] = stretch(row / tokens, lines, body.top(), body.height());
  return {x, y, width, height};
}

void ComparedMapPainter::paint(QPainter& p, const QRectF& box, const ComparedMap& map,
                               const MapLook& look, const Theme& theme) {
  paintPartTitle(p, box, text(map.title), theme);
  QRectF rest = box.adjusted(0, kPartTitle, 0, 0);
  if (map.empty()) {
    writeWrapped(p, rest, text(map.note), textFont(12), theme.dim, 0);
    return;
  }
  write(p, QRectF(box.left(), box.top(), box.width(), 16), "[ ] rows that differ", textFont(11),
        theme.faint, Qt::AlignRight | Qt::AlignVCenter);
  const QRectF body = bodyOf(box, map);
  fold(box, map);
  color(map, theme);
  p.save();
  p.setRenderHint(QPainter::SmoothPixmapTransform, false);
  if (map.has_lacking) p.fillRect(body, lackingBrush(theme));
  p.drawImage(body, image_);
  p.restore();
  paintLabels(p, body, map, box.left(), theme);
  paintAxis(p, body, map, theme);
  p.setBrush(Qt::NoBrush);
  for (const auto& [hit, ink] :
       {std::pair(&look.picked, theme.accent), {&look.hovered, theme.text}})
    if (*hit) {
      p.setPen(QPen(ink, 1.5));
      p.drawRect(rowBox(body, map, (*hit)->row).adjusted(-1, -1, 1, 1));
    }
  paintLegend(p, body, box.top() + kPartTitle + kBody + kAxis, map, theme);
  rest.setTop(box.top() + kPartTitle + kBody + kAxis + kMapScale);
  const std::string said =
      look.hovered ? describeRow(map, look.hovered->row, look.hovered->of) + "." : map.largest;
  writeWrapped(p, rest, text(said), textFont(12), look.hovered ? theme.text : theme.dim, 0);
  rest.setTop(rest.top() + sentenceHeight(box.width(), map));
  for (const QString& sentence : lacksOf(map))
    rest = writeWrapped(p, rest, sentence, textFont(12), theme.wait, 2);
}

std::optional<MapHit> ComparedMapPainter::hit(const QPointF& point, const QRectF& box,
                                              const ComparedMap& map) {
  if (map.empty()) return std::nullopt;
  const QRectF body = bodyOf(box, map);
  if (!body.contains(point)) return std::nullopt;
  fold(box, map);
  const auto at = [](double share, std::size_t of) {
    return std::min(of - 1, static_cast<std::size_t>(share * static_cast<double>(of)));
  };
  const std::size_t column = at((point.x() - body.left()) / body.width(), folded_.columns);
  const std::size_t line = at((point.y() - body.top()) / body.height(), folded_.lines);
  return MapHit{folded_.worst[line * folded_.columns + column],
                folded_.comparedRows(*map.map, line, column)};
}

}  // namespace ringscope::viz
