// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/kit/painted_words.h"

#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QWidget>

namespace ringscope::viz {
namespace {

/// A paint engine that keeps the text at one point. Later text covers earlier text.
class WordsEngine : public QPaintEngine {
 public:
  explicit WordsEngine(const QPointF& point) : QPaintEngine(AllFeatures), point_(point) {}
  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return User; }
  void updateState(const QPaintEngineState& to) override {
    if (to.state() & DirtyTransform) transform_ = to.transform();
  }
  void drawTextItem(const QPointF& at, const QTextItem& item) override {
    const QRectF clip = systemClip().boundingRect();
    if (!clip.isEmpty() && !clip.contains(point_)) return;
    const QPointF point = transform_.inverted().map(point_);
    const QFontMetricsF metrics(item.font());
    const QRectF box(at.x(), at.y() - metrics.ascent(), item.width(), metrics.height());
    if (!box.contains(point)) return;
    const QString words = item.text();
    qsizetype letter = 0;
    while (letter + 1 < words.size() &&
           at.x() + metrics.horizontalAdvance(words.left(letter + 1)) <= point.x())
      ++letter;
    found = WordsAt{words, letter};
  }
  void drawPixmap(const QRectF&, const QPixmap&, const QRectF&) override {}
  using QPaintEngine::drawPolygon;
  void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}
  void drawPath(const QPainterPath&) override {}

  std::optional<WordsAt> found;

 private:
  QPointF point_;
  QTransform transform_;
};

class WordsDevice : public QPaintDevice {
 public:
  WordsDevice(const QWidget& widget, const QPointF& point) : widget_(widget), engine_(point) {}
  QPaintEngine* paintEngine() const override { return &engine_; }
  const std::optional<WordsAt>& found() const { return engine_.found; }

 protected:
  int metric(PaintDeviceMetric metric) const override {
    if (metric == PdmWidth) return widget_.width();
    if (metric == PdmHeight) return widget_.height();
    if (metric == PdmDevicePixelRatio) return 1;
    if (metric == PdmDevicePixelRatioScaled) return static_cast<int>(devicePixelRatioFScale());
    if (metric == PdmDepth) return 32;
    const bool across = metric == PdmDpiX || metric == PdmPhysicalDpiX;
    return across ? widget_.logicalDpiX() : widget_.logicalDpiY();
  }

 private:
  const QWidget& widget_;
  mutable WordsEngine engine_;
};

}  // namespace

std::optional<WordsAt> paintedWordsAt(QWidget& widget, const QPoint& point) {
  WordsDevice device(widget, point);
  widget.render(&device, {}, {}, QWidget::DrawChildren);
  return device.found();
}

}  // namespace ringscope::viz
