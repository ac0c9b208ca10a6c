// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/rounding_limits.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <vector>

#include "engine/tensors/wide.h"
#include "engine/verify/difference.h"
#include "engine/verify/error_measure.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kTile = 32;  ///< neighbouring rows whose errors are measured together
constexpr double kSpreadSlack = 1.1;
constexpr double kTermsLimit = 2.9;
constexpr double kSingleLimit = 8;
/// A row in which one device is far off is a hard one for every device: much of its rounding, of
/// stored weights above all, is the same whatever the tiling.
constexpr double kDeviceSlack = 2;
/// Errors that came through other layers vary more from row to row than those of one attention: a
/// query with one key has no dq but a cancellation. Measured: of 500 comparisons of a right run in
/// fp32 the worst reaches 0.4 of the limit.
constexpr double kPropagatedSlack = 7.5;
/// How many times its root mean square an error of a parameter's gradient may be: of what one
/// device's errors say of the row's neighbourhood, of the whole parameter, and of the row itself.
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

/// Of a tensor of which nothing is known but its values: errors of the size of the row, and of the
/// rows about it, where one is small by chance.
RowVariance plainVariance(const at::Tensor& reference_norms, at::ScalarType type) {
  const Wide norms(reference_norms);
  const at::Tensor spread = at::empty(reference_norms.sizes(), at::kDouble);
  auto* of_row = spread.data_ptr<double>();
  const double roundoff = unitRoundoff(type);
  eachTile(spread, [&](std::int64_t first, std::int64_t last) {
    double squares = 0;
    for (std::int64_t i = first; i < last; ++i) squares += norms[i] * norms[i];
    const double mean = squares / static_cast<double>(last - first);
    for (std::int64_t i = first; i < last; ++i)
      of_row[i] = roundoff * roundoff * (norms[i] * norms[i] + mean);
  });
  const at::Tensor none = at::zeros_like(spread);
  return {spread, none, none, none};
}

/// Of a tensor that errors reach with its inputs: what bounds one attention's own errors,
/// `variance`, does not bound those.
RowVariance expectedOf(const at::Tensor& norms, at::ScalarType type, const RowVariance* variance) {
  RowVariance expected = plainVariance(norms, type);
  if (!variance) return expected;
  RowVariance both{expected.spread + variance->spread, variance->terms, variance->single,
                   variance->merging};
  both.adding = variance->adding;
  return both;
}

/// How much larger one device's errors are in each row's neighbourhood than was expected; as a
/// factor of squares. It counts for at least one: errors may be small by luck, and rows with one
/// key have none, which says nothing of their neighbours.
std::vector<double> measuredFactors(const Wide& device_errors, const RowVariance& v) {
  const Wide spread(v.spread), terms(v.terms), single(v.single);
  std::vector<double> of_row;
  of_row.reserve(static_cast<std::size_t>(device_errors.size()));
  eachTile(v.spread, [&](std::int64_t first, std::int64_t last) {
    double squares = 0, expected = 0;
    for (std::int64_t i = first; i < last; ++i) {
      squares += device_errors[i] * device_errors[i];
      expected += spread[i] + terms[i] + single[i] + v.bounded * v.bounded / 6;
    }
    const double factor = squares / expected;
    of_row.insert(of_row.end(), static_cast<std::size_t>(last - first),
                  std::isfinite(factor) ? std::max(factor, 1.0) : 1);
  });
  return of_row;
}

std::optional<Wide> wideOf(const at::Tensor& t) {
  return t.defined() ? std::optional<Wide>(t) : std::nullopt;
}

/// The 2-norm of D independent errors stays below (1 + λ / √D) of its root mean square with the
/// probability with which one number stays below 1 + λ: λ = 5 is passed once in a billion rows.
/// A tenth is left for what the expectation gets wrong within a tile. Errors that are of the size
/// of their element average out over D / 3 where the elements are normal, of which the fourth
/// moment is 3; λ = 4 is enough for the few rows in which these are most. The one of storing the
/// end is uniform, and its norm stays below √3 of its root mean square. Numbers that are stored are
/// off by 2.4 times their root mean square at most, so that few of them, each times a vector, stay
/// below that, and many below what is said of D errors, which is the larger where D is 4. Errors
/// that are few numbers times a vector do not average out over D.
at::Tensor limitsOf(const at::Tensor& device_errors, const RowVariance& v, double width,
                    double slack) {
  const Wide errors(device_errors), spread(v.spread), terms(v.terms), single(v.single),
      merging(v.merging);
  const std::optional<Wide> tiles = wideOf(v.tiles), adding = wideOf(v.adding);
  const double average = 1 + 5 / std::sqrt(width),
               of_elements = 1 + 4 / std::sqrt(std::max(1.0, width / 3));
  const double most_spread = slack * kSpreadSlack * average,
               most_tiles = slack * kSpreadSlack * of_elements,
               most_terms = slack * std::max(kTermsLimit, average),
               most_single = slack * kSingleLimit, most_bounded = slack * v.bounded;
  at::Tensor limits = at::empty(device_errors.sizes(), at::kDouble);
  auto* of_row = limits.data_ptr<double>();
  const std::vector<double> factors = measuredFactors(errors, v);
  for (std::int64_t i = 0; i < errors.size(); ++i) {
    const double factor = factors[static_cast<std::size_t>(i)];
    const double of_tiles = tiles ? (*tiles)[i] : 0, of_sums = adding ? (*adding)[i] : 0;
    of_row[i] = std::sqrt(most_spread * most_spread * (factor * (spread[i] - of_tiles) + of_sums) +
                          most_tiles * most_tiles * factor * of_tiles +
                          most_terms * most_terms * factor * terms[i] +
                          most_single * most_single * (factor * single[i] + merging[i]) +
                          most_bounded * most_bounded);
    if (std::isfinite(errors[i])) of_row[i] = std::max(of_row[i], kDeviceSlack * errors[i]);
  }
  return limits;
}

double widthOf(const at::Tensor& t) {
  return isOfNumbers(t) ? 1 : static_cast<double>(t.size(-1));
}

}  // namespace

at::Tensor rowLimits(const at::Tensor& reference, const at::Tensor& device,
                     const RowVariance* variance, bool propagated) {
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const RowDifferences of_device = rowDifferences(device, exact);
  if (variance && !propagated) return limitsOf(of_device.errors, *variance, widthOf(exact), 1);
  return limitsOf(of_device.errors, expectedOf(of_device.norms, device.scalar_type(), variance),
                  widthOf(exact), kPropagatedSlack);
}

/// A row of a parameter's gradient is a sum over all tokens, of which a few are far louder than the
/// others, so that its error does not average out over its D numbers. Which rows are loud is much
/// the same on every device: of the rows furthest off, the run's error and one device's have a
/// cosine of 0.9. But where a whole head came out well on one device, that was luck.
at::Tensor parameterLimits(const at::Tensor& reference, const at::Tensor& device,
                           const RowVariance* variance) {
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const RowDifferences of_device = rowDifferences(device, exact);
  const RowVariance v = expectedOf(of_device.norms, device.scalar_type(), variance);
  const Wide errors(of_device.errors), spread(v.spread), terms(v.terms), single(v.single),
      merging(v.merging);
  const std::optional<Wide> adding = wideOf(v.adding);
  const std::vector<double> factors = measuredFactors(errors, v);
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
    const double near = factors[static_cast<std::size_t>(i)] * (spread[i] + terms[i] + single[i]) +
                        merging[i] + (adding ? (*adding)[i] : 0);
    of_row[i] = std::sqrt(squared(near_slack) * near + squared(kWholeSlack) * whole +
                          squared(kOwnSlack) * own(i));
  }
  return limits;
}

}  // namespace ringscope::engine
