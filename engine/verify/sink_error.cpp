// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/sink_error.h"

#include <ATen/ATen.h>

#include "engine/attention/sinks.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {

RowVariance sinkVariance(const at::Tensor& sinks, const LayerAttention& exact,
                         at::ScalarType type) {
  const at::Tensor rounding =
      sinkGradientRounding(sinks, exact.dout, {exact.out, exact.lse}, unitRoundoff(type))
          .to(at::kDouble)
          .cpu();
  // Merging rounds out once more than one device does.
  const at::Tensor squares = at::square(rounding);
  const at::Tensor none = at::zeros_like(rounding);
  return {none, none, squares, 2 * squares};
}

void measureSinkGradient(traces::DiffRecord& diff, const at::Tensor& actual,
                         const at::Tensor& sinks, const LayerAttention& exact,
                         const LayerAttention& one_device, at::ScalarType type) {
  const RowVariance variance = sinkVariance(sinks, exact, type);
  measureError(
      diff,
      {actual, sinkGradient(sinks, exact.dout, {exact.out, exact.lse}),
       sinkGradient(sinks, exact.dout, {one_device.out, one_device.lse}).to(actual.scalar_type())},
      &variance);
}

}  // namespace ringscope::engine
