// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/layer_keys.h"

#include <algorithm>
#include <cmath>

#include "traces/analysis/verify/rounding/roundoff.h"

namespace ringscope::traces {

LayerKeys::LayerKeys(const Trace& trace, const LayerTensors& layer, const Selection& selection)
    : width_(static_cast<std::size_t>(layer.head_dim)),
      rows_(layer.tokens.size()),
      values_(layer.values(trace, TensorKind::kK, selection).values) {
  for (const RankTensor& part : layer.tensors.at(TensorKind::kK))
    roundoff_ = std::max(roundoff_, unitRoundoff(part.record->dtype));
}

bool LayerKeys::areEqual(std::size_t group, std::size_t a, std::size_t b) const {
  const double *left = row(group, a), *right = row(group, b);
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < width_; ++i) {
    most = std::max(most, std::abs(left[i] - right[i]));
    largest = std::max({largest, std::abs(left[i]), std::abs(right[i])});
  }
  return most <= 8 * roundoff_ * largest;
}

std::optional<double> LayerKeys::angle(std::size_t group, std::size_t a, std::size_t b,
                                       std::size_t second) const {
  const double *left = row(group, a), *right = row(group, b);
  const double length = std::hypot(left[0], left[second]),
               other = std::hypot(right[0], right[second]);
  double largest = 0;
  for (std::size_t i = 0; i < width_; ++i) largest = std::max(largest, std::abs(left[i]));
  if (length < 0.05 * largest || std::abs(length - other) > 32 * roundoff_ * largest)
    return std::nullopt;
  return std::atan2(right[second], right[0]) - std::atan2(left[second], left[0]);
}

}  // namespace ringscope::traces
