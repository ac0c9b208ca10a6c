// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/rounding_limits.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/tensors/wide.h"
#include "engine/verify/difference.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kTile = 32;  ///< neighbouring rows whose errors are measured together
/// A row that is far off on one device is hard for every device. Much of its rounding is the same
/// with any tiling, above all the rounding of stored weights.
constexpr double kDeviceSlack = 2;
/// The errors of one device widen the limit of one attention at most by this factor, because
/// `verify` has no such device and must give the same limit.
constexpr double kMostMeasured = 1.5;
/// Errors that came through other layers vary more from row to row than those of one attention: a
/// query with one key has no dq but a cancellation. Measured: of 500 comparisons of a right run in
/// fp32 the worst reaches 0.4 of the limit.
constexpr double kPropagatedSlack = 7.5;
/// How many times the root mean square of one device's errors an error of a parameter's gradient
/// may be. The means are over the row's neighbourhood, the whole parameter, and the row itself.
/// Measured: tests/bench/README.md, "Errors that verdicts miss".
constexpr double kNearSlack = 7, kWholeSlack = 6, kOwnSlack = 5;
/// Times more of the neighbourhood, where the exact step is rounded as the run is: in fp64.
constexpr double kBothSlack = 8;

/// Calls f(first, last) for the rows of each tile of neighbours along the last dimension.
template <typename F>
void eachTile(const at::Tensor& rows, F f) {
  const std::int64_t length = rows.dim() > 0 ? rows.size(-1) : 1;
  for (std::int64_t begin = 0; begin < rows.numel(); begin += length)
    for (std::int64_t first = begin; first < begin + length; first += kTile)
      f(first, std::min(first + kTile, begin + length));
}

/// Returns the expected errors of a tensor. If only its values are known, they are proportional to
/// the row and its neighbours, because one row may be small by chance. If errors also arrive with
/// the inputs of the tensor, the rounding of one attention, `own`, is only a part of them.
TensorVariance expectedOf(const at::Tensor& reference_norms, at::ScalarType type,
                          const TensorVariance* own) {
  const Wide norms(reference_norms);
  TensorVariance expected;
  if (own) expected.rows = own->rows;
  expected.rows.resize(static_cast<std::size_t>(norms.size()));
  const double roundoff = unitRoundoff(type);
  eachTile(reference_norms, [&](std::int64_t first, std::int64_t last) {
    double squares = 0;
    for (std::int64_t i = first; i < last; ++i) squares += norms[i] * norms[i];
    const double mean = squares / static_cast<double>(last - first);
    for (std::int64_t i = first; i < last; ++i) {
      RowVariance& row = expected.rows[static_cast<std::size_t>(i)];
      row.spread += roundoff * roundoff * (norms[i] * norms[i] + mean);
      row.tiles = 0;
    }
  });
  return expected;
}

/// How much larger one device's errors are in each row's neighbourhood than was expected; as a
/// factor of squares. It counts for at least one: errors may be small by luck, and rows with one
/// key have none, which says nothing of their neighbours.
std::vector<double> measuredFactors(const at::Tensor& device_errors, const TensorVariance& v) {
  const Wide errors(device_errors);
  std::vector<double> of_row;
  of_row.reserve(v.rows.size());
  eachTile(device_errors, [&](std::int64_t first, std::int64_t last) {
    double squares = 0, expected = 0;
    for (std::int64_t i = first; i < last; ++i) {
      const RowVariance& row = v.rows[static_cast<std::size_t>(i)];
      squares += errors[i] * errors[i];
      expected += row.spread + row.terms + row.single + v.bounded * v.bounded / 6;
    }
    const double factor = squares / expected;
    of_row.insert(of_row.end(), static_cast<std::size_t>(last - first),
                  std::isfinite(factor) ? std::max(factor, 1.0) : 1);
  });
  return of_row;
}

at::Tensor limitsOf(const at::Tensor& device_errors, const TensorVariance& v, std::int64_t width,
                    double slack, double most) {
  const Wide errors(device_errors);
  at::Tensor limits = at::empty(device_errors.sizes(), at::kDouble);
  auto* of_row = limits.data_ptr<double>();
  const std::vector<double> factors = measuredFactors(device_errors, v);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double expected = traces::rowLimit(v.rows[i], v.bounded, width, slack);
    of_row[i] = traces::rowLimit(v.rows[i], v.bounded, width, slack, factors[i]);
    const double of_device = errors[static_cast<std::int64_t>(i)];
    if (std::isfinite(of_device)) of_row[i] = std::max(of_row[i], kDeviceSlack * of_device);
    of_row[i] = std::min(of_row[i], most * expected);
  }
  return limits;
}

std::int64_t widthOf(const at::Tensor& t) {
  return isOfNumbers(t) ? 1 : t.size(-1);
}

}  // namespace

at::Tensor rowLimits(const at::Tensor& reference, const at::Tensor& device,
                     const TensorVariance* variance, bool propagated) {
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const RowDifferences of_device = rowDifferences(device, exact);
  if (variance && !propagated)
    return limitsOf(of_device.errors, *variance, widthOf(exact), 1, kMostMeasured);
  return limitsOf(of_device.errors, expectedOf(of_device.norms, device.scalar_type(), variance),
                  widthOf(exact), kPropagatedSlack, std::numeric_limits<double>::infinity());
}

/// A row of a parameter's gradient is a sum over all tokens. A few tokens contribute far more than
/// the others, so the error does not average out over the D numbers of the row. The rows with large
/// errors are much the same on every device. In the worst rows, the errors of the run and of one
/// device have a cosine of 0.9. A whole head with small errors on one device is luck.
at::Tensor parameterLimits(const at::Tensor& reference, const at::Tensor& device,
                           const TensorVariance* variance) {
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const RowDifferences of_device = rowDifferences(device, exact);
  const TensorVariance v = expectedOf(of_device.norms, device.scalar_type(), variance);
  const Wide errors(of_device.errors);
  const std::vector<double> factors = measuredFactors(of_device.errors, v);
  const auto squared = [](double x) { return x * x; };
  const auto own = [&](std::int64_t i) {
    return std::isfinite(errors[i]) ? squared(errors[i]) : 0;
  };
  double whole = 0;
  for (std::int64_t i = 0; i < errors.size(); ++i) whole += own(i);
  whole /= static_cast<double>(std::max<std::int64_t>(1, errors.size()));
  const double near_slack = kNearSlack * (device.scalar_type() == at::kDouble ? kBothSlack : 1);
  at::Tensor limits = at::empty(of_device.errors.sizes(), at::kDouble);
  auto* of_row = limits.data_ptr<double>();
  for (std::int64_t i = 0; i < errors.size(); ++i) {
    const RowVariance& row = v.rows[static_cast<std::size_t>(i)];
    const double near =
        factors[static_cast<std::size_t>(i)] * (row.spread + row.terms + row.single) + row.merging +
        row.adding;
    of_row[i] = std::sqrt(squared(near_slack) * near + squared(kWholeSlack) * whole +
                          squared(kOwnSlack) * own(i));
  }
  return limits;
}

}  // namespace ringscope::engine
