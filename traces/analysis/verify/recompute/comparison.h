// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/row_limits.h"

namespace ringscope::traces {

/// One row of a recorded tensor against the same row in fp64.
struct RowError {
  std::int64_t batch = 0, head = 0;  ///< head: of k and v a KV head
  TokenIndex token;
  WorldRank rank;    ///< who recorded the row
  double error = 0;  ///< 2-norm of the difference
  double limit = 0;  ///< what rounding explains in this row
  double size = 0;   ///< 2-norm of the row in fp64
  /// Above 1 the row is wrong; infinite where one is not finite and the other is.
  double ratio() const;
};

/// Sets error and size of a row in fp64 and as it was recorded; what is equal and infinite differs
/// by 0.
void measure(RowError& row, std::span<const double> right, std::span<const double> actual);

/// One recorded tensor of a layer against recomputation.
struct TensorCheck {
  TensorKind kind = TensorKind::kOut;
  RowError worst;
  std::int64_t rows = 0;        ///< that were compared
  std::int64_t not_finite = 0;  ///< that were not: the recomputed row is not finite, by its inputs
  std::vector<float> ratios;    ///< of each row of the selection; NaN where not compared
  std::vector<WorldRank> wrong_ranks;  ///< with rows whose ratio is above 1, ascending
};

/// Recorded out, lse, dq, dk and dv of some rows of a layer against computed ones, of those that
/// were recorded and computed. `computed`, `limits`: of the rows that `selection` has of each
/// tensor. dk and dv are sums over all query rows and left out where not all were computed.
std::vector<TensorCheck> compareAll(const Trace& trace, const LayerTensors& layer,
                                    const Selection& selection, const AttentionValues& computed,
                                    const Limits& limits);

/// "0.0046×", "8,400×" of an error ÷ its limit.
std::string describeRatio(double ratio);

/// Of all of them; 0 where nothing was compared.
double worstRatio(const std::vector<TensorCheck>& tensors);

}  // namespace ringscope::traces
