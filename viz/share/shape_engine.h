// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPaintEngine>
#include <QPainterPath>
#include <optional>

#include "viz/share/shape_recorder.h"

namespace ringscope::viz {

/// The paint engine of a ShapeRecorder. Writes all geometry in pixels of the device.
class ShapeEngine : public QPaintEngine {
 public:
  explicit ShapeEngine(Definitions& definitions);
  const std::vector<Shape>& shapes() const { return shapes_; }

  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return QPaintEngine::SVG; }
  void updateState(const QPaintEngineState& to) override;

  using QPaintEngine::drawEllipse;
  using QPaintEngine::drawLines;
  using QPaintEngine::drawPolygon;
  using QPaintEngine::drawRects;
  void drawRects(const QRectF* rects, int count) override;
  void drawLines(const QLineF* lines, int count) override;
  void drawEllipse(const QRectF& box) override;
  void drawPath(const QPainterPath& path) override;
  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override;
  void drawTextItem(const QPointF& at, const QTextItem& item) override;
  void drawPixmap(const QRectF& box, const QPixmap& pixmap, const QRectF& part) override;
  void drawImage(const QRectF& box, const QImage& image, const QRectF& part,
                 Qt::ImageConversionFlags flags) override;
  void drawTiledPixmap(const QRectF& box, const QPixmap& pixmap, const QPointF& offset) override;

 private:
  double scale() const;
  bool isUpright() const;
  /// Adds a shape of the painter's brush and pen, unless the shape has neither or is clipped away.
  void add(const char* tag, const QByteArray& geometry, const QRectF& bounds, bool filled);
  /// Adds a shape of this style within the painter's clip.
  void addClipped(Shape shape, const QRectF& bounds);
  void writePath(const QPainterPath& path, bool filled);

  Definitions& definitions_;
  std::vector<Shape> shapes_;
  bool clip_is_known_ = false;
  std::optional<QPainterPath> clip_;  // in pixels of the device; nothing: everything is drawn
};

}  // namespace ringscope::viz
