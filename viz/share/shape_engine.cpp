// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/shape_engine.h"

#include <QPainter>
#include <cmath>

#include "viz/share/shape_style.h"

namespace ringscope::viz {
namespace {

QByteArray attribute(const char* name, double value) {
  return " " + QByteArray(name) + "=\"" + svgNumber(value) + "\"";
}

QByteArray boxAttributes(const QRectF& box) {
  return attribute("x", box.x()) + attribute("y", box.y()) + attribute("width", box.width()) +
         attribute("height", box.height());
}

QByteArray pointText(double x, double y) {
  const QByteArray second = svgNumber(y);
  return svgNumber(x) + (second.startsWith('-') ? "" : " ") + second;
}

QByteArray pathData(const QPainterPath& path) {
  QByteArray data;
  QPointF start, last;
  const auto close = [&] {
    if (!data.isEmpty() && last == start && !data.endsWith('M')) data += "z";
  };
  for (int i = 0; i < path.elementCount(); ++i) {
    const QPainterPath::Element at = path.elementAt(i);
    if (at.isMoveTo()) {
      if (i > 0) close();
      start = at;
      data += "M" + pointText(at.x, at.y);
    } else if (at.isLineTo()) {
      data += "L" + pointText(at.x, at.y);
    } else if (at.isCurveTo() && i + 2 < path.elementCount()) {
      const auto second = path.elementAt(i + 1), end = path.elementAt(i + 2);
      data += "C" + pointText(at.x, at.y) + " " + pointText(second.x, second.y) + " " +
              pointText(end.x, end.y);
      i += 2;
    }
    last = path.elementAt(i);
  }
  close();
  return data;
}

QByteArray matrixText(const QTransform& m) {
  return "matrix(" + QByteArray::number(m.m11(), 'g', 5) + " " +
         QByteArray::number(m.m12(), 'g', 5) + " " + QByteArray::number(m.m21(), 'g', 5) + " " +
         QByteArray::number(m.m22(), 'g', 5) + " " + svgNumber(m.dx()) + " " + svgNumber(m.dy()) +
         ")";
}

/// Returns the shape within a clip. A transformed shape stands in a group, because its own
/// transform would move the clip too.
Shape clippedShape(const Shape& shape, const QByteArray& clip) {
  const QByteArray attributes = " clip-path=\"url(#" + clip + ")\"";
  if (!shape.geometry.contains(" transform="))
    return {shape.tag, shape.geometry + attributes, shape.content, shape.style};
  return {"g", attributes, elementMarkup(shape, {}), shape.style};
}

}  // namespace

QByteArray elementMarkup(const Shape& shape, const QByteArray& names) {
  QByteArray markup = "<" + shape.tag;
  if (!names.isEmpty()) markup += " class=\"" + names + "\"";
  markup += shape.geometry;
  if (shape.content.isEmpty()) return markup + "/>";
  return markup + ">" + shape.content + "</" + shape.tag + ">";
}

ShapeEngine::ShapeEngine(Definitions& definitions)
    : QPaintEngine(QPaintEngine::PaintEngineFeatures(QPaintEngine::AllFeatures) &
                   ~QPaintEngine::PaintEngineFeatures(
                       QPaintEngine::PerspectiveTransform | QPaintEngine::ConicalGradientFill |
                       QPaintEngine::PorterDuff | QPaintEngine::BlendModes |
                       QPaintEngine::PaintOutsidePaintEvent)),
      definitions_(definitions) {}

void ShapeEngine::updateState(const QPaintEngineState& to) {
  if (to.state() & (DirtyClipPath | DirtyClipRegion | DirtyClipEnabled)) clip_is_known_ = false;
}

double ShapeEngine::scale() const {
  return std::sqrt(std::abs(painter()->transform().determinant()));
}

bool ShapeEngine::isUpright() const {
  const QTransform& transform = painter()->transform();
  return transform.type() <= QTransform::TxScale && transform.m11() > 0 && transform.m22() > 0;
}

void ShapeEngine::drawRects(const QRectF* rects, int count) {
  for (int i = 0; i < count; ++i) {
    if (!isUpright()) {
      QPainterPath path;
      path.addRect(rects[i]);
      drawPath(path);
      continue;
    }
    const QRectF box = painter()->transform().mapRect(rects[i]).normalized();
    add("rect", boxAttributes(box), box, true);
  }
}

void ShapeEngine::drawLines(const QLineF* lines, int count) {
  for (int i = 0; i < count; ++i) {
    const QLineF line = painter()->transform().map(lines[i]);
    add("path",
        " d=\"M" + pointText(line.x1(), line.y1()) + "L" + pointText(line.x2(), line.y2()) + "\"",
        QRectF(line.p1(), line.p2()).normalized(), false);
  }
}

void ShapeEngine::drawEllipse(const QRectF& box) {
  if (!isUpright()) return QPaintEngine::drawEllipse(box);
  const QRectF at = painter()->transform().mapRect(box);
  add("ellipse",
      attribute("cx", at.center().x()) + attribute("cy", at.center().y()) +
          attribute("rx", at.width() / 2) + attribute("ry", at.height() / 2),
      at, true);
}

void ShapeEngine::drawPath(const QPainterPath& path) {
  writePath(path, true);
}

void ShapeEngine::writePath(const QPainterPath& path, bool filled) {
  const QPainterPath mapped = painter()->transform().map(path);
  QByteArray geometry = " d=\"" + pathData(mapped) + "\"";
  if (path.fillRule() == Qt::WindingFill) geometry += " fill-rule=\"nonzero\"";
  add("path", geometry, mapped.boundingRect(), filled);
}

void ShapeEngine::drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) {
  if (count < 2) return;
  QPainterPath path(points[0]);
  for (int i = 1; i < count; ++i) path.lineTo(points[i]);
  if (mode != PolylineMode) path.closeSubpath();
  if (mode == WindingMode) path.setFillRule(Qt::WindingFill);
  writePath(path, mode != PolylineMode);
}

void ShapeEngine::drawTextItem(const QPointF& at, const QTextItem& item) {
  const QString words = item.text();
  if (words.trimmed().isEmpty()) return;
  const bool upright = isUpright();
  const double size = upright ? scale() : 1;
  const QPointF start = upright ? painter()->transform().map(at) : at;
  Shape shape;
  shape.tag = "text";
  shape.geometry = attribute("x", start.x()) + attribute("y", start.y());
  // The reader may not have the font. Words keep their width, so that they stay in their boxes.
  if (words.size() > 1 && !words.endsWith(' '))
    shape.geometry += attribute("textLength", item.width() * size);
  if (!upright) shape.geometry += " transform=\"" + matrixText(painter()->transform()) + "\"";
  shape.content = escapeMarkup(words);
  shape.style = textStyle(item.font(), painter()->pen().color(), painter()->opacity(), size);
  QRectF bounds(at.x(), at.y() - item.ascent(), item.width(), item.ascent() + item.descent());
  addClipped(std::move(shape), painter()->transform().mapRect(bounds));
}

void ShapeEngine::drawPixmap(const QRectF& box, const QPixmap& pixmap, const QRectF& part) {
  drawImage(box, pixmap.toImage(), part, Qt::AutoColor);
}

void ShapeEngine::drawImage(const QRectF& box, const QImage& image, const QRectF& part,
                            Qt::ImageConversionFlags) {
  const QImage shown = image.copy(part.toAlignedRect());
  if (shown.isNull()) return;
  const bool smooth = painter()->testRenderHint(QPainter::SmoothPixmapTransform) ||
                      shown.width() > box.width() * scale();
  QTransform place = painter()->transform();
  place.translate(box.x(), box.y());
  place.scale(box.width(), box.height());
  Shape shape;
  shape.tag = "use";
  shape.geometry = " href=\"#" + definitions_.addImage(shown, smooth) + "\" transform=\"" +
                   matrixText(place) + "\"";
  if (painter()->opacity() < 1) shape.style = "opacity:" + svgNumber(painter()->opacity());
  addClipped(std::move(shape), painter()->transform().mapRect(box));
}

void ShapeEngine::drawTiledPixmap(const QRectF& box, const QPixmap& pixmap, const QPointF& offset) {
  const QRectF at = painter()->transform().mapRect(box);
  const PlacedBrush tiles{QBrush(pixmap), painter()->transform().map(box.topLeft() - offset),
                          scale()};
  addClipped({"rect", boxAttributes(at), {}, fillStyle(tiles, painter()->opacity(), definitions_)},
             at);
}

void ShapeEngine::add(const char* tag, const QByteArray& geometry, const QRectF& bounds,
                      bool filled) {
  const QPointF origin = painter()->transform().map(QPointF(painter()->brushOrigin()));
  const double opacity = painter()->opacity();
  QByteArray style;
  if (filled) style = fillStyle({painter()->brush(), origin, scale()}, opacity, definitions_);
  const QByteArray stroke = strokeStyle(painter()->pen(), opacity, scale());
  if (!style.isEmpty() && !stroke.isEmpty()) style += ";";
  style += stroke;
  if (style.isEmpty()) return;
  const double width = stroke.isEmpty() ? 0 : std::max(1.0, painter()->pen().widthF() * scale());
  addClipped({tag, geometry, {}, style}, bounds.adjusted(-width, -width, width, width));
}

void ShapeEngine::addClipped(Shape shape, const QRectF& bounds) {
  if (!clip_is_known_) {
    clip_.reset();
    if (painter()->hasClipping()) clip_ = painter()->transform().map(painter()->clipPath());
    clip_is_known_ = true;
  }
  if (clip_) {
    const QRectF seen = clip_->boundingRect();
    const QRectF with_area = bounds.adjusted(-0.01, -0.01, 0.01, 0.01);
    if (!seen.intersects(with_area)) return;
    if (!seen.contains(bounds) || clip_->elementCount() != 5)
      shape = clippedShape(shape, definitions_.add("clipPath", "><path d=\"" + pathData(*clip_) +
                                                                   "\"/></clipPath>"));
  }
  shapes_.push_back(std::move(shape));
}

}  // namespace ringscope::viz
