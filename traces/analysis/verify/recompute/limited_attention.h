// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "traces/analysis/verify/recompute/attention.h"
#include "traces/analysis/verify/rounding/merged_blocks.h"
#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// How a recorded attention was computed, as far as its rounding depends on it.
struct Precision {
  DType dtype = DType::kFloat32;  ///< type of out and of the factors of products
  MergedBlocks blocks;            ///< of the computed rows and of all keys
  double widening = 1;            ///< factor of all limits for what the recording does not say
};

/// Largest differences, as the 2-norm of a row, that rounding explains; shaped as AttentionValues,
/// one number per row.
struct Limits {
  std::vector<double> out, lse, dq, dk, dv;
};

/// An attention in fp64, and the errors that rounding explains in each row.
struct LimitedAttention {
  AttentionValues values;
  Limits limits;
};

/// Computes an attention and its limits. In rows whose recorded `stored_out` is within rounding of
/// the exact out, backward begins with the stored one, as it did in the run; as in.q, or empty.
/// Throws inputError as attend() does.
LimitedAttention attendWithLimits(const AttentionInputs& in, const Precision& precision,
                                  std::span<const double> stored_out = {});

/// Returns the type in which lse and sums are computed for tensors of a type.
DType typeOfSums(DType dtype);

/// Returns the error of a row of this size that is stored once more, because a recording keeps it
/// in a type `recorded` that is coarser than `computed`; 0 otherwise.
double storedAgain(DType recorded, DType computed, double size);

}  // namespace ringscope::traces
