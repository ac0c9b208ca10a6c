// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/difference.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <cmath>
#include <cstdint>

namespace ringscope::engine {
namespace {

at::Tensor rowNorms(const at::Tensor& t) {
  return isOfNumbers(t) ? t.abs() : t.norm(2, -1);
}

/// The larger one, and what is not a number before all numbers.
double larger(double a, double b) {
  return a > b || std::isnan(a) ? a : b;
}

template <typename T>
double fillRows(const T* actual, const double* exact, std::int64_t rows, std::int64_t width,
                double* errors, double* norms) {
  double largest = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    double squares = 0, of_exact = 0;
    for (std::int64_t d = 0; d < width; ++d, ++actual, ++exact) {
      const auto value = static_cast<double>(*actual);
      const double error = value == *exact ? 0 : std::abs(value - *exact);
      squares += error * error;
      of_exact += *exact * *exact;
      largest = larger(largest, error);
    }
    errors[row] = std::sqrt(squares);
    norms[row] = std::sqrt(of_exact);
  }
  return largest;
}

}  // namespace

bool isOfNumbers(const at::Tensor& t) {
  return t.dim() != 2 && t.dim() <= 3;
}

RowDifferences rowDifferencesByOperators(const at::Tensor& actual, const at::Tensor& reference) {
  const at::Tensor a = actual.detach().to(at::kDouble), exact = reference.detach();
  const at::Tensor difference = at::where(a == exact, at::zeros_like(exact), (a - exact).abs());
  return {rowNorms(difference), rowNorms(exact),
          exact.numel() ? difference.max().item<double>() : 0.0};
}

RowDifferences rowDifferences(const at::Tensor& actual, const at::Tensor& reference) {
  TORCH_CHECK(actual.sizes() == reference.sizes() && reference.scalar_type() == at::kDouble,
              "a difference needs two tensors of one shape, the reference in fp64");
  if (!actual.is_cpu()) return rowDifferencesByOperators(actual, reference);
  const at::Tensor a = actual.detach().contiguous(), exact = reference.detach().contiguous();
  const std::int64_t width = isOfNumbers(exact) ? 1 : exact.size(-1);
  const auto shape = isOfNumbers(exact) ? exact.sizes() : exact.sizes().slice(0, exact.dim() - 1);
  RowDifferences rows{at::empty(shape, at::kDouble), at::empty(shape, at::kDouble)};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, a.scalar_type(), "rowDifferences", [&] {
    rows.largest =
        fillRows(a.const_data_ptr<scalar_t>(), exact.const_data_ptr<double>(), rows.errors.numel(),
                 width, rows.errors.data_ptr<double>(), rows.norms.data_ptr<double>());
  });
  return rows;
}

}  // namespace ringscope::engine
