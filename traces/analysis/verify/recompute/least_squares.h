// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace ringscope::traces {

/// Of vectors of one size.
double dot(const std::vector<double>& a, const std::vector<double>& b);
/// |a − factor·b|
double distance(const std::vector<double>& a, const std::vector<double>& b, double factor);

/// By Gauss and Jordan, of a square matrix whose diagonal is near 1; nothing where it has no
/// inverse that rounding leaves some digits of.
std::optional<std::vector<std::vector<double>>> inverseOf(std::vector<std::vector<double>> matrix);

/// The factors with which a sum of columns comes nearest to a target.
struct LeastSquares {
  std::vector<double> factors;
  std::vector<double> errors;  ///< standard error of each
  double off = 0;              ///< what is left, as a share of the target's 2-norm
};

/// `rounding`: the share of the target that rounding may explain, a tenth of which errors have at
/// the least. Nothing where the columns do not tell the factors apart, or there are more than 64 of
/// them.
std::optional<LeastSquares> leastSquares(const std::vector<std::vector<double>>& columns,
                                         const std::vector<double>& target, double rounding);

}  // namespace ringscope::traces
