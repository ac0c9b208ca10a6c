// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPaintDevice>
#include <QSizeF>
#include <memory>
#include <vector>

#include "viz/share/definitions.h"

namespace ringscope::viz {

/// An SVG element whose style stands apart, since it changes with the theme.
struct Shape {
  QByteArray tag;       ///< "rect", "path", "text", …
  QByteArray geometry;  ///< attributes
  QByteArray content;   ///< escaped text or elements; may be empty
  QByteArray style;     ///< CSS

  friend bool operator==(const Shape&, const Shape&) = default;
};

/// Returns the element of a shape with these class names in place of its style.
QByteArray elementMarkup(const Shape& shape, const QByteArray& names);

class ShapeEngine;

/// A paint device that keeps what is painted as SVG elements. Unlike QSvgGenerator of Qt 6.4, it
/// keeps clips, and it lets many pictures share patterns and images.
class ShapeRecorder : public QPaintDevice {
 public:
  ShapeRecorder(const QSizeF& size, Definitions& definitions);
  ~ShapeRecorder() override;

  const std::vector<Shape>& shapes() const;
  QPaintEngine* paintEngine() const override;

 protected:
  int metric(PaintDeviceMetric metric) const override;

 private:
  QSizeF size_;
  std::unique_ptr<ShapeEngine> engine_;
};

}  // namespace ringscope::viz
