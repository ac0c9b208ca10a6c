// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/shape_style.h"

#include <QFontInfo>
#include <algorithm>
#include <cmath>

namespace ringscope::viz {
namespace {

constexpr double kHatch = 8;  // pixels between two lines of a hatched brush

/// Returns a property of a color, and one of its opacity if it is not opaque. Many programs that
/// read SVG know no color with an alpha channel.
QByteArray colorStyle(const char* property, const QColor& color, double opacity) {
  const QByteArray name(property);
  QByteArray css = name + ":" + color.name(QColor::HexRgb).toLatin1();
  const double alpha = color.alphaF() * opacity;
  if (alpha < 0.995) css += ";" + name + "-opacity:" + svgNumber(alpha);
  return css;
}

/// Returns where a pattern of this period begins. Equal patterns then have equal markup.
double patternStart(double origin, double period) {
  const double rest = std::fmod(origin, period);
  return std::round((rest < 0 ? rest + period : rest) * 2) / 2;
}

QByteArray patternFrame(const PlacedBrush& placed, double width, double height) {
  width *= placed.scale;
  height *= placed.scale;
  return "patternUnits=\"userSpaceOnUse\" width=\"" + svgNumber(width) + "\" height=\"" +
         svgNumber(height) + "\" x=\"" + svgNumber(patternStart(placed.origin.x(), width)) +
         "\" y=\"" + svgNumber(patternStart(placed.origin.y(), height)) + "\">";
}

QByteArray texturePattern(const PlacedBrush& placed, Definitions& definitions) {
  const QImage tile = placed.brush.textureImage();
  const QSizeF size = tile.deviceIndependentSize();
  const QByteArray image = definitions.addImage(tile, true);
  return definitions.add(
      "pattern", patternFrame(placed, size.width(), size.height()) + "<use href=\"#" + image +
                     "\" transform=\"scale(" + svgNumber(size.width() * placed.scale) + " " +
                     svgNumber(size.height() * placed.scale) + ")\"/></pattern>");
}

/// Returns the lines of a hatched brush in a square of `s` pixels.
QByteArray hatchPath(Qt::BrushStyle style, const QByteArray& s) {
  QByteArray rising = "M0 " + s + "L" + s + " 0", falling = "M0 0L" + s + " " + s;
  switch (style) {
    case Qt::FDiagPattern:
      return falling;
    case Qt::DiagCrossPattern:
      return rising + falling;
    case Qt::HorPattern:
      return "M0 4H" + s;
    case Qt::VerPattern:
      return "M4 0V" + s;
    case Qt::CrossPattern:
      return "M0 4H" + s + "M4 0V" + s;
    default:
      return rising;
  }
}

QByteArray hatchPattern(const PlacedBrush& placed, double opacity, Definitions& definitions) {
  return definitions.add("pattern", patternFrame(placed, kHatch, kHatch) + "<path d=\"" +
                                        hatchPath(placed.brush.style(), "8") + "\" style=\"" +
                                        colorStyle("stroke", placed.brush.color(), opacity) +
                                        "\"/></pattern>");
}

}  // namespace

QByteArray fillStyle(const PlacedBrush& placed, double opacity, Definitions& definitions) {
  const Qt::BrushStyle style = placed.brush.style();
  if (style == Qt::NoBrush) return {};
  if (style == Qt::TexturePattern) return "fill:url(#" + texturePattern(placed, definitions) + ")";
  if (style >= Qt::HorPattern && style <= Qt::DiagCrossPattern)
    return "fill:url(#" + hatchPattern(placed, opacity, definitions) + ")";
  if (placed.brush.color().alpha() == 0) return {};
  return colorStyle("fill", placed.brush.color(), opacity);
}

QByteArray strokeStyle(const QPen& pen, double opacity, double scale) {
  if (pen.style() == Qt::NoPen) return {};
  const double width = pen.widthF() == 0 ? 1 : pen.widthF() * (pen.isCosmetic() ? 1 : scale);
  QByteArray css = colorStyle("stroke", pen.color(), opacity);
  if (width != 1) css += ";stroke-width:" + svgNumber(width);
  if (pen.style() != Qt::SolidLine) {
    QByteArray dashes;
    for (const qreal dash : pen.dashPattern())
      dashes += (dashes.isEmpty() ? "" : " ") + svgNumber(dash * std::max(width, 1.0));
    css += ";stroke-dasharray:" + dashes;
  }
  if (pen.capStyle() == Qt::RoundCap) css += ";stroke-linecap:round";
  if (pen.capStyle() == Qt::FlatCap) css += ";stroke-linecap:butt";
  if (pen.joinStyle() == Qt::RoundJoin) css += ";stroke-linejoin:round";
  if (pen.joinStyle() == Qt::MiterJoin) css += ";stroke-linejoin:miter";
  return css;
}

QByteArray textStyle(const QFont& font, const QColor& color, double opacity, double scale) {
  const double size = (font.pixelSize() > 0 ? font.pixelSize() : QFontInfo(font).pixelSize());
  QByteArray css =
      colorStyle("fill", color, opacity) + ";font-size:" + svgNumber(size * scale) + "px";
  if (font.weight() != QFont::Normal) css += ";font-weight:" + QByteArray::number(font.weight());
  if (font.italic()) css += ";font-style:italic";
  if (font.family().contains("Mono")) css += ";font-family:JetBrains Mono,monospace";
  return css;
}

}  // namespace ringscope::viz
