// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace ringscope::traces {

/// Returns the dot product of vectors of one size.
double dot(const std::vector<double>& a, const std::vector<double>& b);
/// Returns |a − factor·b|.
double distance(const std::vector<double>& a, const std::vector<double>& b, double factor);

/// Returns the inverse of a square matrix whose diagonal is near 1, by Gauss-Jordan elimination.
/// Returns nullopt when rounding would leave no digits of it.
std::optional<std::vector<std::vector<double>>> invertMatrix(
    std::vector<std::vector<double>> matrix);

/// The factors with which a sum of columns comes nearest to a target.
struct LeastSquares {
  std::vector<double> factors;
  std::vector<double> errors;  ///< standard error of each factor
  double off = 0;              ///< remaining share of the target's 2-norm
};

/// Solves a least-squares problem. `rounding` is the share of the target that rounding may explain;
/// errors are at least a tenth of it. Returns nullopt when the columns do not determine the
/// factors, or when there are more than 64 columns.
std::optional<LeastSquares> leastSquares(const std::vector<std::vector<double>>& columns,
                                         const std::vector<double>& target, double rounding);

}  // namespace ringscope::traces
