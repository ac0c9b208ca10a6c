// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ringscope::traces {

namespace {
using Matrix = std::vector<std::vector<double>>;
}

std::optional<Matrix> invertMatrix(Matrix matrix) {
  const std::size_t n = matrix.size();
  Matrix inverse(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) inverse[i][i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row)
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    if (!(std::abs(matrix[pivot][column]) > 1e-11)) return std::nullopt;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(inverse[pivot], inverse[column]);
    const double by = matrix[column][column];
    for (std::size_t i = 0; i < n; ++i) {
      matrix[column][i] /= by;
      inverse[column][i] /= by;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const double times = matrix[row][column];
      for (std::size_t i = 0; row != column && i < n; ++i) {
        matrix[row][i] -= times * matrix[column][i];
        inverse[row][i] -= times * inverse[column][i];
      }
    }
  }
  return inverse;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double distance(const std::vector<double>& a, const std::vector<double>& b, double factor) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = a[i] - factor * b[i];
    squares += off * off;
  }
  return std::sqrt(squares);
}

std::optional<LeastSquares> leastSquares(const std::vector<std::vector<double>>& columns,
                                         const std::vector<double>& target, double rounding) {
  constexpr std::size_t kMost = 64;
  const std::size_t n = columns.size();
  const double size = std::sqrt(dot(target, target));
  if (n == 0 || n > kMost || n >= target.size() || !(size > 0)) return std::nullopt;
  std::vector<double> lengths, sides;
  for (const auto& column : columns) {
    lengths.push_back(std::sqrt(dot(column, column)));
    if (!(lengths.back() > 0)) return std::nullopt;
  }
  Matrix normal(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      normal[i][j] = dot(columns[i], columns[j]) / (lengths[i] * lengths[j]);
    sides.push_back(dot(columns[i], target) / lengths[i]);
  }
  const auto inverse = invertMatrix(normal);
  if (!inverse) return std::nullopt;
  LeastSquares solution;
  std::vector<double> left = target;
  for (std::size_t i = 0; i < n; ++i) {
    solution.factors.push_back(dot((*inverse)[i], sides) / lengths[i]);
    for (std::size_t k = 0; k < left.size(); ++k)
      left[k] -= solution.factors.back() * columns[i][k];
  }
  const double rest = std::sqrt(dot(left, left)),
               noise = std::max(rest, 0.1 * rounding * size) /
                       std::sqrt(static_cast<double>(target.size() - n));
  solution.off = rest / size;
  for (std::size_t i = 0; i < n; ++i)
    solution.errors.push_back(noise * std::sqrt(std::max(0.0, (*inverse)[i][i])) / lengths[i]);
  return solution;
}

}  // namespace ringscope::traces
