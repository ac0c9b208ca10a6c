// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/limited_attention.h"

namespace ringscope::traces {

/// One row of a recorded tensor compared with the same row in fp64.
struct RowError {
  std::int64_t batch = 0, head = 0;  ///< for k and v, head is a KV head
  TokenIndex token;
  WorldRank rank;    ///< rank that recorded the row
  double error = 0;  ///< 2-norm of the difference
  double limit = 0;  ///< error that rounding explains in this row
  double size = 0;   ///< 2-norm of the row in fp64
  /// Returns error ÷ limit. A ratio above 1 means that the row is wrong. The ratio is infinite when
  /// only one of the rows is finite.
  double ratio() const;
};

/// Sets error and size of a row from its fp64 values and its recorded values. Equal infinities
/// differ by 0.
void measure(RowError& row, std::span<const double> right, std::span<const double> actual);

/// One recorded tensor of a layer compared with its recomputation.
struct TensorCheck {
  TensorKind kind = TensorKind::kOut;
  RowError worst;
  std::int64_t rows = 0;        ///< number of compared rows
  std::int64_t not_finite = 0;  ///< rows that were not compared because their inputs make the
                                ///< recomputed row non-finite
  std::vector<float> ratios;    ///< ratio of each row of the selection; NaN: not compared
  std::vector<WorldRank> wrong_ranks;  ///< ranks with rows whose ratio is above 1, ascending
};

/// Reports whether a tensor is a gradient: dq, dk or dv.
bool isOfBackward(const TensorCheck& tensor);

/// Compares recorded out, lse, dq, dk and dv of some rows of a layer with computed ones, as far as
/// both exist. The arguments `computed` and `limits` have the rows of `selection`. Sums over all
/// query rows, dk and dv, are left out unless all query rows were computed.
std::vector<TensorCheck> compareAll(const Trace& trace, const LayerTensors& layer,
                                    const Selection& selection, const AttentionValues& computed,
                                    const Limits& limits);

/// Formats error ÷ limit: "0.0046×", "8,400×".
std::string describeRatio(double ratio);

/// Returns the largest ratio of all tensors; 0 when nothing was compared.
double worstRatio(const std::vector<TensorCheck>& tensors);

}  // namespace ringscope::traces
