// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viz/style/theme.h"

namespace ringscope::test {

inline constexpr QSizeF kSmallStage(708, 410);

/// Words as they were drawn, and the position of their first letter.
struct DrawnText {
  QString words;
  QPointF at;
  QColor color;
  double width = 0;
  QRectF ink;                    ///< area that the letters cover
  std::optional<QRectF> within;  ///< clip set by the painter, often the rectangle of the words
  QRectF seen;                   ///< visible part of the widget that drew the words; empty:
                                 ///< everything
  std::size_t shapes_before = 0;
};

/// A filled shape.
struct DrawnShape {
  QRectF box;
  QColor fill;
  QRectF seen;  ///< visible part of the shape
};

/// A paint engine that keeps what is painted instead of making pixels.
class DrawingEngine : public QPaintEngine {
 public:
  DrawingEngine() : QPaintEngine(QPaintEngine::AllFeatures) {}
  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return QPaintEngine::User; }
  void updateState(const QPaintEngineState& to) override {
    if (to.state() & DirtyPen) pen_ = to.pen();
    if (to.state() & DirtyBrush) brush_ = to.brush();
    if (to.state() & DirtyTransform) transform_ = to.transform();
  }
  void drawTextItem(const QPointF& at, const QTextItem& item) override {
    DrawnText text{item.text(), transform_.map(at), pen_.color(), item.width(), {}, {}, {}, 0};
    const QRectF ink = QFontMetricsF(item.font()).tightBoundingRect(item.text());
    text.ink = transform_.mapRect(ink.translated(at));
    if (painter()->hasClipping()) text.within = transform_.mapRect(painter()->clipBoundingRect());
    text.seen = QRectF(systemClip().boundingRect());
    text.shapes_before = shapes.size();
    texts.push_back(text);
  }
  void drawPath(const QPainterPath& path) override { fill(path.boundingRect()); }
  using QPaintEngine::drawPolygon;
  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
    QPolygonF polygon;
    for (int i = 0; i < count; ++i) polygon << points[i];
    if (mode != PolylineMode) fill(polygon.boundingRect());
  }
  void drawPixmap(const QRectF& box, const QPixmap&, const QRectF&) override {
    images.push_back(box);
  }
  void drawImage(const QRectF& box, const QImage&, const QRectF&,
                 Qt::ImageConversionFlags) override {
    images.push_back(box);
  }

  std::vector<DrawnText> texts;
  std::vector<DrawnShape> shapes;
  std::vector<QRectF> images;

 private:
  void fill(const QRectF& box) {
    if (brush_.style() == Qt::NoBrush) return;
    const QRegion seen = systemClip();
    const QRectF drawn = transform_.mapRect(box);
    shapes.push_back(
        {drawn, brush_.color(), seen.isEmpty() ? drawn : drawn & QRectF(seen.boundingRect())});
  }

  QPen pen_;
  QBrush brush_;
  QTransform transform_;
};

/// The words and the filled shapes that a painter has drawn.
class Drawn : public QPaintDevice {
 public:
  explicit Drawn(const QSizeF& size) : size_(size) {}
  QPaintEngine* paintEngine() const override { return &engine_; }
  QRectF area() const { return {QPointF(0, 0), size_}; }

  const std::vector<DrawnText>& texts() const { return engine_.texts; }
  const std::vector<DrawnShape>& shapes() const { return engine_.shapes; }
  const std::vector<QRectF>& images() const { return engine_.images; }
  /// Returns all words in the order of drawing, with a space between two pieces.
  std::string words() const {
    QString all;
    for (const DrawnText& text : texts()) all += text.words + " ";
    return all.simplified().toStdString();
  }
  /// Returns the first piece that contains these words, or null.
  const DrawnText* find(const QString& words) const {
    for (const DrawnText& text : texts())
      if (text.words.contains(words)) return &text;
    return nullptr;
  }
  /// Returns the first piece that consists of these words, or null.
  const DrawnText* exactly(const QString& words) const {
    for (const DrawnText& text : texts())
      if (text.words.trimmed() == words) return &text;
    return nullptr;
  }

 protected:
  int metric(PaintDeviceMetric metric) const override {
    constexpr int kDpi = 96;
    switch (metric) {
      case PdmWidth:
        return static_cast<int>(size_.width());
      case PdmHeight:
        return static_cast<int>(size_.height());
      case PdmDpiX:
      case PdmDpiY:
      case PdmPhysicalDpiX:
      case PdmPhysicalDpiY:
        return kDpi;
      case PdmDepth:
        return 32;
      case PdmNumColors:
        return 1 << 24;
      case PdmDevicePixelRatio:
        return 1;
      case PdmDevicePixelRatioScaled:
        return static_cast<int>(QPaintDevice::devicePixelRatioFScale());
      default:
        return 0;
    }
  }

 private:
  QSizeF size_;
  mutable DrawingEngine engine_;
};

/// Returns what `paint` draws into an area of this size. A piece of text has one font, so search
/// for ASCII.
template <typename Paint>
std::unique_ptr<Drawn> drawn(const QSizeF& size, Paint paint) {
  auto result = std::make_unique<Drawn>(size);
  QPainter painter(result.get());
  paint(painter, result->area());
  return result;
}

/// Reports whether the text of the picture contains these words.
inline bool has(const Drawn& picture, const std::string& words) {
  return picture.words().find(words) != std::string::npos;
}

inline const viz::Theme& dark() {
  return viz::Theme::all().front();
}

}  // namespace ringscope::test
