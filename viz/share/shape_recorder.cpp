// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/shape_recorder.h"

#include "viz/share/shape_engine.h"

namespace ringscope::viz {

ShapeRecorder::ShapeRecorder(const QSizeF& size, Definitions& definitions)
    : size_(size), engine_(std::make_unique<ShapeEngine>(definitions)) {}

ShapeRecorder::~ShapeRecorder() = default;

const std::vector<Shape>& ShapeRecorder::shapes() const {
  return engine_->shapes();
}

QPaintEngine* ShapeRecorder::paintEngine() const {
  return engine_.get();
}

int ShapeRecorder::metric(PaintDeviceMetric metric) const {
  constexpr int kDpi = 96;
  constexpr double kMillimetres = 25.4 / kDpi;
  switch (metric) {
    case PdmWidth:
      return static_cast<int>(size_.width());
    case PdmHeight:
      return static_cast<int>(size_.height());
    case PdmWidthMM:
      return static_cast<int>(size_.width() * kMillimetres);
    case PdmHeightMM:
      return static_cast<int>(size_.height() * kMillimetres);
    case PdmNumColors:
      return 1 << 24;
    case PdmDepth:
      return 32;
    case PdmDpiX:
    case PdmDpiY:
    case PdmPhysicalDpiX:
    case PdmPhysicalDpiY:
      return kDpi;
    case PdmDevicePixelRatio:
      return 1;
    case PdmDevicePixelRatioScaled:
      return static_cast<int>(devicePixelRatioFScale());
  }
  return 0;
}

}  // namespace ringscope::viz
