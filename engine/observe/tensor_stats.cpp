// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/tensor_stats.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <cmath>

namespace ringscope::engine {

traces::TensorStats statsOf(const at::Tensor& tensor) {
  traces::TensorStats stats;
  const at::Tensor flat = tensor.detach().contiguous();
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  std::int64_t finite = 0;
  AT_DISPATCH_ALL_TYPES_AND2(at::kBFloat16, at::kHalf, flat.scalar_type(), "statsOf", [&] {
    const auto* data = flat.const_data_ptr<scalar_t>();
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const auto value = static_cast<double>(data[i]);
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
        sum += value;
        ++finite;
      } else {
        (std::isnan(value) ? stats.nan : stats.inf) += 1;
      }
    }
  });
  if (finite == 0) return stats;
  stats.min = low;
  stats.max = high;
  stats.mean = sum / static_cast<double>(finite);
  stats.abs_max = std::max(std::abs(low), std::abs(high));
  return stats;
}

}  // namespace ringscope::engine
