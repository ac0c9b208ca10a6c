// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/sink_error.h"

#include <ATen/ATen.h>

#include "engine/kernels/sinks.h"
#include "engine/tensors/wide.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

constexpr double kRoundings = 4;  ///< roundings of a sum in blocks, and of its parts

}  // namespace

TensorVariance sinkVariance(const at::Tensor& sinks, const LayerAttention& exact,
                            at::ScalarType type) {
  const Wide rounding(
      sinkGradientRounding(sinks, exact.dout, {exact.out, exact.lse}, unitRoundoff(type)));
  TensorVariance variance;
  for (std::int64_t i = 0; i < rounding.size(); ++i) {
    RowVariance row;
    row.single = rounding[i] * rounding[i];
    row.merging = 2 * row.single;  // merging rounds out once more than one device does
    variance.rows.push_back(row);
  }
  return variance;
}

void measureSinkGradient(traces::DiffRecord& diff, const at::Tensor& actual,
                         const at::Tensor& sinks, const LayerAttention& used) {
  const at::Tensor exact = sinkGradient(sinks, used.dout, {used.out, used.lse}).cpu(),
                   sizes = sinkGradientSize(sinks, used.dout, {used.out, used.lse}).cpu();
  const double sums = unitRoundoff(actual.scalar_type() == at::kDouble ? at::kDouble : at::kFloat),
               stored = unitRoundoff(actual.scalar_type());
  measureElements(diff, actual, exact, kRoundings * (sums * sizes + stored * exact.abs()));
}

}  // namespace ringscope::engine
