// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "traces/analysis/verify/rounding/merged_blocks.h"

namespace ringscope::traces {

/// The sizes of the partial sums while a kernel adds up the terms of a sum one after another. Each
/// addition rounds the partial sum of that moment, so these sizes say how far the end may be off.
/// The terms are factors times vectors. The vectors are a common mean and independent deviations.
struct RunningSums {
  double squares = 0;  ///< sum over the additions of the square of the sum of the factors
  double terms = 0;    ///< sum over the additions of the squares of all terms so far
  double total = 0;    ///< sum of all factors

  /// Returns the sum of the squares of all partial sums of vectors whose mean has the square
  /// `mean2`.
  double sizes(double mean2) const { return squares * mean2 + terms; }
};

/// Returns the sizes for terms `factors[j]` times a vector whose 2-norm has the square
/// `squares[j]`. Term j belongs to key `first_key` + j, and each block is summed by itself.
RunningSums sumTerms(const MergedBlocks& blocks, std::size_t first_key,
                     std::span<const double> factors, const double* squares);

/// The sizes for many terms of alike size: multiples of the square of the end and of the sum of the
/// squares of the terms.
struct RunningGrowth {
  double of_end = 0, of_terms = 0;

  double sizes(double end2, double terms2) const { return of_end * end2 + of_terms * terms2; }
};

/// Returns the sizes for `terms` terms, of which at most `longest` are added one after another
/// before their sum is added to the rest.
RunningGrowth runningGrowth(double terms, double longest);

}  // namespace ringscope::traces
