// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/verify/gather.h"

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

/// One recorded tensor of a layer against recomputation.
struct TensorCheck {
  TensorKind kind = TensorKind::kOut;
  RowError worst;
  std::int64_t rows = 0;        ///< that were compared
  std::int64_t not_finite = 0;  ///< that were not: the recomputed row is not finite, by its inputs
  std::vector<float> ratios;    ///< of each row of the selection; NaN where not compared
  std::vector<WorldRank> wrong_ranks;  ///< with rows whose ratio is above 1, ascending
};

/// A layer of one group of ranks as it was recorded against unsharded attention in fp64, computed
/// from the recorded q, k, v, dout and attention sinks under the declared mask. Not recorded, and
/// so taken as usual: scores are scaled by 1 / √head_dim.
struct LayerCheck {
  LayerPass pass;
  std::vector<WorldRank> members;
  Selection selection;               ///< what was computed
  std::vector<TensorCheck> tensors;  ///< in the order out, lse, dq, dk, dv; those that could be
  std::vector<std::string> skipped;  ///< sentences: what was not computed or compared, and why
  double work = 0;                   ///< multiply-adds

  /// The worst of all tensors; 0 when nothing was compared.
  double worstRatio() const;
};

/// `work`: at most about so many multiply-adds. Where a layer takes more, some (batch entry, KV
/// head) pairs are computed whole, evenly spread; where not even one fits, some query rows of one,
/// and dk and dv, which are sums over all rows, are left out. At least one row is computed. Throws
/// inputError when recorded values are damaged.
LayerCheck checkLayer(const Trace& trace, const LayerPass& pass,
                      const std::vector<WorldRank>& members, double work);

}  // namespace ringscope::traces
