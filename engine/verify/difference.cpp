// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/difference.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <cmath>

#include "engine/gpu/gpu.h"

namespace ringscope::engine {

DifferenceTotals differenceTotals(const at::Tensor& actual, const at::Tensor& reference) {
  TORCH_CHECK(actual.sizes() == reference.sizes() && reference.scalar_type() == at::kDouble,
              "a difference needs two tensors of one shape, the reference in fp64");
  if (actual.is_cuda()) return gpu::differenceTotals(actual, reference);
  const at::Tensor a = actual.detach().contiguous(), r = reference.detach().contiguous();
  DifferenceTotals totals;
  const auto* exact = r.const_data_ptr<double>();
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kBFloat16, at::kHalf, a.scalar_type(), "differenceTotals", [&] {
        const auto* values = a.const_data_ptr<scalar_t>();
        for (std::int64_t i = 0; i < a.numel(); ++i) {
          const auto value = static_cast<double>(values[i]);
          const double error = value == exact[i] ? 0 : std::abs(value - exact[i]);
          totals.sum_squares += error * error;
          if (std::isfinite(exact[i])) totals.scale = std::max(totals.scale, std::abs(exact[i]));
          if (error <= totals.largest || std::isnan(totals.largest)) continue;
          totals.largest = error;
          totals.worst = i;
        }
      });
  return totals;
}

}  // namespace ringscope::engine
