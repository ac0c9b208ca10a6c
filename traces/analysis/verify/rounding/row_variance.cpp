// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/rounding/row_variance.h"

#include <algorithm>
#include <cmath>

namespace ringscope::traces {
namespace {

constexpr double kSpreadSlack = 1.1;
constexpr double kTermsLimit = 2.9;
constexpr double kSingleLimit = 8;

double squared(double x) {
  return x * x;
}

}  // namespace

bool TensorVariance::isComparable() const {
  return std::ranges::none_of(rows, [](const RowVariance& row) {
    return std::isnan(row.spread + row.terms + row.single + row.merging + row.adding);
  });
}

/// The 2-norm of D independent errors stays below (1 + λ / √D) of its root mean square with the
/// probability with which one number stays below 1 + λ. A row passes λ = 5 once in a billion rows.
/// kSpreadSlack leaves a tenth for errors of the expectation.
///
/// Errors of the size of their element average out over D / 3 numbers if the elements are normal.
/// The reason is that the fourth moment of a normal number is 3. The smaller λ = 4 suffices for the
/// few rows in which such errors are the largest part.
///
/// The error of storing the end is uniform, so its norm stays below √3 of its root mean square. A
/// stored number is off by at most 2.4 times its root mean square. A few such numbers, each times a
/// vector, stay below that, and do not average out over D. Many stay below the bound of D errors,
/// which is the larger bound when D is 4.
double rowLimit(const RowVariance& row, double bounded, std::int64_t width, double slack,
                double factor) {
  const auto numbers = static_cast<double>(width);
  const double average = 1 + 5 / std::sqrt(numbers),
               of_elements = 1 + 4 / std::sqrt(std::max(1.0, numbers / 3));
  const double squares =
      squared(kSpreadSlack * average) * (factor * (row.spread - row.tiles) + row.adding) +
      squared(kSpreadSlack * of_elements) * factor * row.tiles +
      squared(std::max(kTermsLimit, average)) * factor * row.terms +
      squared(kSingleLimit) * (factor * row.single + row.merging) + squared(bounded);
  return slack * std::sqrt(squares);
}

}  // namespace ringscope::traces
