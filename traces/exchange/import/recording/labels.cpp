// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/recording/labels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "traces/format/core/hash.h"

namespace ringscope::traces {

Bytes labelsWithoutLast(TensorRecord& labels, const Bytes& targets, std::int64_t ignored) {
  constexpr std::size_t kSize = sizeof ignored;
  const auto rows = static_cast<std::size_t>(labels.shape.front());
  const std::size_t width = targets.size() / kSize / rows;
  std::vector<std::int64_t> all(rows * (width + 1), ignored);
  for (std::size_t row = 0; row < rows; ++row)
    std::memcpy(&all[row * (width + 1)], targets.data() + row * width * kSize, width * kSize);
  const auto [least, most] = std::ranges::minmax(all);
  const auto low = static_cast<double>(least), high = static_cast<double>(most);
  double mean = 0;
  for (const std::int64_t label : all)
    mean += static_cast<double>(label) / static_cast<double>(all.size());
  labels.dtype = DType::kInt64;
  labels.stats = {low, high, mean, std::max(std::abs(low), std::abs(high)), 0, 0};
  Bytes bytes(all.size() * kSize);
  std::memcpy(bytes.data(), all.data(), bytes.size());
  labels.hash = mixSum64(bytes.data(), bytes.size());
  return bytes;
}

}  // namespace ringscope::traces
