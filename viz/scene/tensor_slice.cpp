// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/scene/tensor_slice.h"

#include <algorithm>
#include <cmath>

namespace ringscope::viz {

TensorSlice tensorSlice(const std::vector<std::int64_t>& shape, const std::vector<double>& values,
                        const std::vector<std::int64_t>& lead) {
  TensorSlice slice{1, 1, {}};
  const std::size_t dims = shape.size();
  if (dims >= 1) slice.rows = shape[dims - 1];
  if (dims >= 2) {
    slice.columns = shape[dims - 1];
    slice.rows = shape[dims - 2];
  }
  std::int64_t offset = 0;
  for (std::size_t d = 0; d + 2 < dims; ++d) {
    const std::int64_t asked = d < lead.size() ? lead[d] : 0;
    offset = offset * shape[d] +
             std::clamp<std::int64_t>(asked, 0, std::max<std::int64_t>(0, shape[d] - 1));
  }
  std::int64_t size = 0, begin = 0;
  if (slice.rows <= 0 || slice.columns <= 0 ||
      __builtin_mul_overflow(slice.rows, slice.columns, &size) ||
      __builtin_mul_overflow(offset, size, &begin) ||
      begin > static_cast<std::int64_t>(values.size()) - size)
    return {};
  const auto first = values.begin() + begin;
  slice.values.assign(first, first + size);
  return slice;
}

ValueHistogram valueHistogram(const std::vector<double>& values, std::size_t bins) {
  ValueHistogram h;
  h.bins.assign(bins, 0);
  bool any = false;
  for (const double v : values) {
    h.nan += std::isnan(v);
    h.inf += std::isinf(v);
    if (!std::isfinite(v)) continue;
    h.low = any ? std::min(h.low, v) : v;
    h.high = any ? std::max(h.high, v) : v;
    any = true;
  }
  const double width = (h.high - h.low) / static_cast<double>(bins);
  for (const double v : values)
    if (std::isfinite(v)) {
      const auto bin = width > 0 ? static_cast<std::size_t>((v - h.low) / width) : 0;
      ++h.bins[std::min(bin, bins - 1)];
    }
  return h;
}

ValueRange autoFit(const std::vector<double>& values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite),
               [](double v) { return std::isfinite(v); });
  if (finite.empty()) return {};
  auto percentile = [&](double share) {
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(finite.size() - 1));
    std::nth_element(finite.begin(), finite.begin() + at, finite.end());
    return finite[static_cast<std::size_t>(at)];
  };
  const double low = percentile(0.01), high = percentile(0.99);
  return high > low ? ValueRange{low, high} : ValueRange{low - 0.5, low + 0.5};
}

std::string describeShape(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d ? "×" : "") + std::to_string(shape[d]);
  return text + "]";
}

}  // namespace ringscope::viz
