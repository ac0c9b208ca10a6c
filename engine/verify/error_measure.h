// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>
#include <vector>

#include "engine/data/batch_layout.h"
#include "engine/verify/rounding_variance.h"
#include "traces/format/schema/records.h"

namespace ringscope::engine {

/// Half the distance from 1 to the next number of a type.
double unitRoundoff(at::ScalarType type);

/// False: some of the reference is NaN, as what is computed from inputs that are no numbers.
/// Whether the run's is right cannot be told then.
bool isComparable(const at::Tensor& reference);

/// One tensor three times, of one shape: [B, H, S, D], whose rows are [D]; [B, H, S] or [N], whose
/// rows are single numbers; or [N, D].
struct Comparison {
  at::Tensor actual;     ///< what the run computed, in global order
  at::Tensor reference;  ///< the same in fp64
  at::Tensor device;     ///< the same by one device in the run's type
};

/// 2-norms of the rows of actual − reference, fp64; equal infinities differ by 0.
at::Tensor rowErrors(const at::Tensor& actual, const at::Tensor& reference);

/// Fills largest, error, limit, scale, ratio, worst_index and rows of a diff.
/// The limit of a row is derived from one device's errors in its neighbourhood. They are shared out
/// by `variance`, the expected rounding errors of each row. Without it, the expected error of a row
/// is proportional to the row. rounding_limits.cpp derives the limit. With a layout, ratio_by_rank
/// is filled from the rows that each rank owns along `seq_dim`.
void measureError(traces::DiffRecord& diff, const Comparison& of,
                  const TensorVariance* variance = nullptr, const BatchLayout* layout = nullptr,
                  std::int64_t seq_dim = 2, bool propagated = false);

/// A reference for the rows of a tensor, and how far each row may be from it.
struct HeldTo {
  at::Tensor reference;  ///< fp64
  at::Tensor limits;     ///< of rowLimits() and its like
};

/// The same for rows that are held to all of `held_to`, of which the one that says most against a
/// row counts; `largest` and `scale` are of the first.
void measureRows(traces::DiffRecord& diff, const at::Tensor& actual,
                 const std::vector<HeldTo>& held_to, const BatchLayout* layout = nullptr,
                 std::int64_t seq_dim = 2);

/// The same with a limit for each element, fp64: its worst element stands for a row.
void measureElements(traces::DiffRecord& diff, const at::Tensor& actual,
                     const at::Tensor& reference, const at::Tensor& limits,
                     const BatchLayout* layout = nullptr, std::int64_t seq_dim = 2);

/// The same for rows or elements that come one after another, in row-major order, on the CPU.
class RatioMeasure {
 public:
  /// `shape`: of what comes; the diff keeps the ratio of each.
  static RatioMeasure ofRows(at::IntArrayRef shape) { return {shape, shape, 1}; }
  /// The diff keeps the largest ratio of each row: of the last dimension where there are two.
  static RatioMeasure ofElements(at::IntArrayRef shape) {
    return shape.size() < 2 ? ofRows(shape)
                            : RatioMeasure(shape, shape.slice(0, shape.size() - 1), shape.back());
  }
  // A copy would count into the same tensor.
  RatioMeasure(const RatioMeasure&) = delete;
  RatioMeasure(RatioMeasure&&) = default;

  /// `scale`: the size of what the error is in.
  void add(double error, double limit, double scale) {
    // No quotient where the row had a larger one; what is not a number passes the comparison.
    if (next_ == 0 || !(error <= of_row_[row_] * limit)) keep(error, limit, scale);
    if (error > largest_ || std::isnan(error)) largest_ = error;
    ++next_;
    if (++column_ < width_) return;
    column_ = 0;
    ++row_;
  }
  void addElement(double actual, double exact, double limit) {
    add(actual == exact ? 0 : std::abs(actual - exact), limit, std::abs(exact));
  }
  void write(traces::DiffRecord& diff, const BatchLayout* layout = nullptr,
             std::int64_t seq_dim = 2) const;

 private:
  RatioMeasure(at::IntArrayRef shape, at::IntArrayRef rows, std::int64_t width);
  void keep(double error, double limit, double scale);

  struct Worst {
    std::int64_t index;
    double ratio, error, limit, scale;
  };
  std::vector<std::int64_t> shape_;
  at::Tensor ratios_;  ///< the largest of each row
  double* of_row_;
  std::int64_t width_, next_ = 0, row_ = 0, column_ = 0;
  double largest_ = 0;
  Worst worst_{0, -1, 0, 0, 0};
};

/// The same for a single number.
void measureNumber(traces::DiffRecord& diff, double actual, double reference, double limit);

/// How far a mean over targets may be from `reference`: `errors` are one device's, of each target,
/// fp64.
double limitOfMean(double reference, const at::Tensor& errors);

/// The largest error of each (head, position) over batch and head dimension, float32 [H, S].
struct ErrorMaps {
  at::Tensor absolute;
  at::Tensor relative;  ///< |error| / |reference|; of at least the smallest normal float
  at::Tensor ulp;       ///< in units in the last place of the reference in the type of `actual`
};

/// actual and reference: [B, H, S] or [B, H, S, D], in global order.
ErrorMaps errorMaps(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ringscope::engine
