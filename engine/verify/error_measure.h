// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/data/batch_layout.h"
#include "engine/verify/rounding_variance.h"
#include "traces/schema/records.h"

namespace ringscope::engine {

/// Half the distance from 1 to the next number of a type.
double unitRoundoff(at::ScalarType type);

/// One tensor three times, of one shape: [B, H, S, D], whose rows are [D]; [B, H, S] or [N], whose
/// rows are single numbers; or [N, D].
struct Comparison {
  at::Tensor actual;     ///< what the run computed, in global order
  at::Tensor reference;  ///< the same in fp64
  at::Tensor device;     ///< the same by one device in the run's type
};

/// What rounding explains in each row: largest 2-norms of the difference from the reference, fp64,
/// shaped as the rows. `propagated`: errors that came with the inputs are in it too.
at::Tensor rowLimits(const Comparison& of, const RowVariance* variance = nullptr,
                     bool propagated = false);

/// 2-norms of the rows of actual − reference, fp64; equal infinities differ by 0.
at::Tensor rowErrors(const at::Tensor& actual, const at::Tensor& reference);

/// Fills largest, error, limit, scale, ratio, worst_index and rows of a diff.
/// A row's limit rests on what one device's errors are in its neighbourhood, shared out by how
/// large rounding errors are to be expected in each row; `variance` says that, and where it is
/// missing a row's error is taken to be of the size of the row. How the limit follows is in the
/// source. With a layout, ratio_by_rank is filled from the rows that each rank owns along
/// `seq_dim`.
void measureError(traces::DiffRecord& diff, const Comparison& of,
                  const RowVariance* variance = nullptr, const BatchLayout* layout = nullptr,
                  std::int64_t seq_dim = 2, bool propagated = false);

/// The same with a limit for each element, fp64: its worst element stands for a row.
void measureElements(traces::DiffRecord& diff, const at::Tensor& actual,
                     const at::Tensor& reference, const at::Tensor& limits,
                     const BatchLayout* layout = nullptr, std::int64_t seq_dim = 2);

/// The same for a single number.
void measureNumber(traces::DiffRecord& diff, double actual, double reference, double limit);

/// The same for a mean over targets: `errors` are one device's, of each target, fp64.
void measureMean(traces::DiffRecord& diff, double actual, double reference,
                 const at::Tensor& errors);

/// The largest error of each (head, position) over batch and head dimension, float32 [H, S].
struct ErrorMaps {
  at::Tensor absolute;
  at::Tensor relative;  ///< |error| / |reference|; of at least the smallest normal float
  at::Tensor ulp;       ///< in units in the last place of the reference in the type of `actual`
};

/// actual and reference: [B, H, S] or [B, H, S, D], in global order.
ErrorMaps errorMaps(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ringscope::engine
