// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/verify/recompute/attention.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Of n independent roundings of unit roundoff u the errors stay below λ·√n·u with a probability of
/// at least 1 − 2n·exp(−λ²/2) (Higham and Mary 2019).
inline constexpr double kRoundingLambda = 6;

/// Half the distance from 1 to the next number of a floating type; 0 for an integer type.
double unitRoundoff(DType dtype);

/// The smallest normal number of a floating type, or the spacing below it where the type is so
/// narrow that it matters.
double underflow(DType dtype);

/// How a recorded attention was computed, as far as its rounding depends on it.
struct Precision {
  double stored = 0;  ///< unit roundoff of the type of out and of what kernels keep between steps
  double sums = 0;    ///< of the type of sums and of lse
  double exponential = 0;   ///< relative error of the kernels' exponential
  double tiny = 0;          ///< what underflows to 0, or is rounded by as much, in either type
  std::vector<int> merges;  ///< of each query row: blocks that were merged into it
  int key_parts = 1;        ///< at most so many partial sums were added into a row of dk or dv
};

/// Largest differences, as the 2-norm of a row, that rounding explains; shaped as AttentionValues,
/// one number a row.
struct Limits {
  std::vector<double> out, lse, dq, dk, dv;
};

/// Collects, from the rows of one attention in fp64, how large its rounding errors may be in each
/// row. The derivation is in the source. `in` and `precision` outlive it.
class RowLimits {
 public:
  RowLimits(const AttentionInputs& in, const Precision& precision);
  /// For attend().
  void visit(const AttentionRow& row);
  /// After attend(), with its results.
  Limits finish(const AttentionValues& values) const;

 private:
  struct QueryRow {
    double keys = 0;          ///< that it attends
    double weight = 0;        ///< relative error of its weights
    double lse = 0, out = 0;  ///< limits
    double plain = 0;         ///< of dq: what does not depend on how it is stored
    double spread = 0;        ///< of dq: root of Σ |dS·k|²
  };
  struct KeyRow {
    double queries = 0;
    double dk = 0, dk_size = 0, dk_random = 0, dk_spread = 0;
    double dv = 0, dv_size = 0, dv_spread = 0;
  };
  QueryRow forward(const AttentionRow& row, std::size_t index) const;
  void backward(const AttentionRow& row, std::size_t index, QueryRow& sizes);

  const AttentionInputs& in_;
  const Precision& precision_;
  std::vector<double> q_norm_, k_norm_, v_norm_, dout_norm_;
  std::vector<QueryRow> query_rows_;
  std::vector<KeyRow> key_rows_;
};

}  // namespace ringscope::traces
