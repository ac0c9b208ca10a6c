// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringscope::viz {

/// The last two dimensions of a tensor, as a matrix, at one index of each dimension before them.
struct TensorSlice {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;  ///< row by row

  double at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
};

/// `lead` holds an index for every dimension before the last two and is clamped into the shape; a
/// vector is one column, a number one cell. Empty when there are fewer values than the shape says.
TensorSlice tensorSlice(const std::vector<std::int64_t>& shape, const std::vector<double>& values,
                        const std::vector<std::int64_t>& lead);

/// How many finite values fall into each of equally wide bins, and what is not finite.
struct ValueHistogram {
  double low = 0, high = 0;  ///< smallest and largest finite value
  std::vector<std::int64_t> bins;
  std::int64_t nan = 0, inf = 0;
};

ValueHistogram valueHistogram(const std::vector<double>& values, std::size_t bins);

/// The part of the values that colours are spread over.
struct ValueRange {
  double low = 0, high = 1;

  /// 0 at low, 1 at high; not clamped.
  double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

/// From the first to the 99th percentile of the finite values: an outlier does not hide the rest.
ValueRange autoFit(const std::vector<double>& values);

/// "[1×8×64×16]".
std::string describeShape(const std::vector<std::int64_t>& shape);

}  // namespace ringscope::viz
