// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QPainter>

#include "viz/scene/tensor_slice.h"
#include "viz/style/theme.h"

namespace ringscope::viz {

/// One slice of a tensor as it is drawn: the matrix in colours, the range over its histogram.
struct TensorPicture {
  TensorSlice slice;
  ValueHistogram histogram;
  ValueRange range;
  std::int64_t row = 0, column = 0;              ///< picked cell
  std::int64_t first_row = 0, first_column = 0;  ///< in the upper left corner
  double cell = 8;                               ///< side of a cell in pixels; values from 44

  /// A slice to be seen as a whole where it fits into `matrix`, in colours that fit it.
  void show(TensorSlice shown, const QRectF& matrix);
  /// Colours over the values again.
  void fit();
  /// Another cell; scrolled into sight.
  void pick(std::int64_t to_row, std::int64_t to_column, const QRectF& matrix);
  void scroll(std::int64_t rows);
  /// Larger or smaller cells about the picked one.
  void zoom(double steps, const QRectF& matrix);

 private:
  void clamp();
};

/// Where the parts of a picture lie.
struct TensorAreas {
  QRectF range, matrix;
};
TensorAreas tensorAreas(const QRectF& area);

/// How many rows and columns fit into the matrix's area.
std::int64_t visibleRows(const QRectF& matrix, const TensorPicture& picture);
std::int64_t visibleColumns(const QRectF& matrix, const TensorPicture& picture);

/// x of a value over the histogram, and back.
double rangeX(const QRectF& range, const ValueHistogram& histogram, double value);
double rangeValue(const QRectF& range, const ValueHistogram& histogram, double x);

/// Signed values are blue, white and red about 0; magnitudes cividis. NaN and Inf are crossed.
void paintTensor(QPainter& painter, const QRectF& area, const TensorPicture& picture,
                 const Theme& theme);

}  // namespace ringscope::viz
