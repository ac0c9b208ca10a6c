// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/style/theme.h"
#include "viz/views/tensor/tensor_scene.h"

namespace ringscope::viz {

/// How a slice is looked at: its colours, its picked cell, and which part of it.
struct TensorLook {
  ValueRange range;
  std::int64_t row = 0, column = 0;              ///< picked cell
  std::int64_t first_row = 0, first_column = 0;  ///< in the upper left corner
  double cell = 8;                               ///< side of a cell in pixels; values from 44
  int dragged = 0;                               ///< end of the range: −1 low, 1 high, 0 none
};

/// The boxes of the parts of a drawn slice. `canvas` is the result of tensorCanvas().
struct TensorAreas {
  QRectF range, matrix;
};
QRectF tensorCanvas(const QRectF& area);
TensorAreas tensorAreas(const QRectF& canvas);

/// The slice as a whole where it fits into `matrix`, in colours that fit it; the picked cell stays.
TensorLook wholeSlice(const TensorScene& scene, const TensorLook& before, const QRectF& matrix);
/// Another cell picked, and scrolled into sight.
TensorLook picked(const TensorScene& scene, TensorLook look, std::int64_t row, std::int64_t column,
                  const QRectF& matrix);
TensorLook scrolled(const TensorScene& scene, TensorLook look, std::int64_t rows);
/// Larger or smaller cells about the picked one.
TensorLook zoomed(const TensorScene& scene, TensorLook look, double steps, const QRectF& matrix);
/// Applies a press of the mouse: takes an end of the range, or picks a cell.
TensorLook pressed(const TensorScene& scene, TensorLook look, const QPointF& point,
                   const QRectF& canvas);
/// The taken end of the range moved under a point.
TensorLook dragged(const TensorScene& scene, TensorLook look, const QPointF& point,
                   const QRectF& canvas);

/// Draws name, place, range over its histogram, and the matrix. Signed values are blue, white and
/// red about 0; magnitudes cividis. NaN and Inf are crossed.
void paintTensor(QPainter& painter, const QRectF& area, const TensorScene& scene,
                 const TensorLook& look, const Theme& theme);

}  // namespace ringscope::viz
