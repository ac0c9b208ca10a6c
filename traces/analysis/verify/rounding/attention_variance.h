// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/analysis/verify/rounding/merged_blocks.h"
#include "traces/analysis/verify/rounding/row_variance.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// An attention whose rounding errors are estimated. Squares are of the 2-norms of rows. All arrays
/// are row-major.
struct RoundedAttention {
  std::int64_t heads = 0, kv_heads = 0;  ///< of all batch entries together
  std::int64_t head_dim = 0;
  double scale = 0;  ///< factor of q·k before the softmax
  bool has_sinks = false;
  DType dtype = DType::kFloat32;  ///< type of the tensors and of the factors of products
  MergedBlocks blocks;
  std::vector<double> q2, dout2;  ///< [heads, rows]; dout2 is empty without dout
  std::vector<double> k2, v2;     ///< [kv_heads, keys]

  std::size_t rows() const { return blocks.row_parts.size(); }
  std::size_t keys() const { return blocks.key_parts.size(); }
};

/// One query row of the exact attention. `head` counts the query heads of all batch entries.
struct RoundedRow {
  std::size_t head = 0, row = 0, first_key = 0;
  std::span<const double> weights;  ///< softmax of the keys from `first_key` on
  std::span<const double> dscores;  ///< gradients of the scores before the scale
  std::span<const double> out;
  double lse = 0;
  double mean_key2 = 0;                  ///< |Σ p·k|²; used with dout
  std::span<const double> stored_out{};  ///< the run's out; empty: unknown, and backward began
                                         ///< with the exact out
};

/// The exact gradients, rows of head_dim numbers.
struct ExactGradients {
  std::span<const double> dq, dk, dv;
};

/// Returns the squares of the 2-norms of rows of `width` numbers.
std::vector<double> rowSquares(std::span<const double> values, std::int64_t width);

/// Collects, row by row, the mean squares of the rounding errors of a correct attention. The
/// derivation is in the source.
class VarianceSums {
 public:
  explicit VarianceSums(RoundedAttention attention);
  /// Returns whether the exact backward should begin with the row's stored out: it is within
  /// rounding. Otherwise the row's dq and its part of dk may differ by what rounding of out makes
  /// of delta.
  bool visit(const RoundedRow& row);
  /// Returns the variances after all rows were visited. Without dout only out and lse have rows.
  AttentionVariance finish(const ExactGradients& exact) const;

 private:
  /// Sums over the keys of one row.
  struct OverKeys {
    double p2 = 0, p2_v2 = 0, p2_k2 = 0, moved_v2 = 0, moved_kv2 = 0, v2 = 0, k2 = 0, ds2_k2 = 0,
           ds2_k4 = 0;
  };
  /// Sums over the query rows of one key.
  struct OverRows {
    double dv = 0, dv_single = 0, dv_merging = 0, dk = 0, dk_single = 0, dk_merging = 0;
    double dout2 = 0, q2 = 0, rows = 0;
  };
  struct QueryRow {
    RowVariance out, lse, dq;
    double keys = 0, merged = 0;
  };
  OverKeys overKeys(const RoundedRow& row, std::size_t first) const;
  void forward(const RoundedRow& row, std::size_t first, const OverKeys& sums, double q2,
               QueryRow& query) const;
  void backward(const RoundedRow& row, std::size_t first, const OverKeys& sums, bool exact_delta,
                QueryRow& query);
  bool storedOutIsRight(const RoundedRow& row, const QueryRow& query) const;
  void finishQueries(const ExactGradients& exact, AttentionVariance& all) const;
  void finishKeys(const ExactGradients& exact, AttentionVariance& all) const;

  RoundedAttention in_;
  bool narrow_;
  double unit_, stored_, tiny_, exp_, scale2_, group_;
  std::vector<double> most_v2_;  ///< of each key head
  std::vector<QueryRow> queries_;
  std::vector<OverRows> keys_;
};

}  // namespace ringscope::traces
