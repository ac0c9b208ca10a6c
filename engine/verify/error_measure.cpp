// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/error_measure.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "engine/verify/difference.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kTile = 32;  ///< neighbouring rows whose errors are measured together
constexpr double kSingleLimit = 10;
constexpr double kMeanLimit = 4;
/// Errors that came through other layers vary more from row to row than those of one attention (a
/// query with one key has no dq but a cancellation), and those of gradients of parameters, which
/// are sums over all tokens, still more. Measured: of 500 comparisons of a right run in fp32 the
/// worst reaches 0.4 of the limits of activations and 0.5 of those of gradients.
constexpr double kPropagatedSlack = 5;
constexpr double kGradientSlack = 8;

/// |a − b| in fp64. Equal infinities differ by 0.
at::Tensor difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor a64 = a.detach().to(at::kDouble), b64 = b.detach().to(at::kDouble);
  return at::where(a64 == b64, at::zeros_like(b64), (a64 - b64).abs());
}

/// [B, H, S] or [B, H, S, D] to its largest entries as float32 [H, S].
at::Tensor largestByRow(const at::Tensor& error) {
  const at::Tensor rows = error.dim() == 4 ? error.amax(3) : error;
  return rows.amax(0).to(at::kFloat);
}

/// The distance from |x| to the next larger number of a type with this unit roundoff.
at::Tensor unitInLastPlace(const at::Tensor& x, at::ScalarType type) {
  const at::Tensor exponent = at::floor(at::log2(x.abs().clamp_min(0x1p-126)));
  return at::exp2(exponent) * (2 * unitRoundoff(type));
}

/// Rows of single numbers: lse, a vector, a scalar.
bool isOfNumbers(const at::Tensor& t) {
  return t.dim() != 2 && t.dim() <= 3;
}

/// 2-norms of the rows, in fp64.
at::Tensor rowNorms(const at::Tensor& t) {
  const at::Tensor t64 = t.to(at::kDouble);
  return isOfNumbers(t) ? t64.abs() : t64.norm(2, -1);
}

/// Each row's sum over its tile of kTile neighbours along the last dimension.
at::Tensor tileSums(const at::Tensor& rows) {
  const std::int64_t length = rows.size(-1), missing = (kTile - length % kTile) % kTile;
  auto shape = rows.sizes().vec();
  shape.back() = missing;
  const at::Tensor tiles =
      at::cat({rows, at::zeros(shape, rows.options())}, -1).unflatten(-1, {-1, kTile}).sum(-1);
  return tiles.repeat_interleave(kTile, -1).slice(-1, 0, length);
}

/// Of a tensor of which nothing is known but its values: errors of the size of the row, and of the
/// rows about it, where one is small by chance.
RowVariance plainVariance(const at::Tensor& reference_norms, at::ScalarType type) {
  const at::Tensor squares = at::square(reference_norms), count = tileSums(at::ones_like(squares));
  const double roundoff = unitRoundoff(type);
  return {roundoff * roundoff * (squares + tileSums(squares) / count), at::zeros_like(squares),
          at::zeros_like(squares)};
}

/// How much larger one device's errors are in a row's neighbourhood than was expected; as a factor
/// of squares. It counts for at least a quarter, since errors may be small by luck, and for one
/// where the device has no number.
at::Tensor measuredFactor(const at::Tensor& device_errors, const RowVariance& expected) {
  const at::Tensor factor =
      tileSums(at::square(device_errors)) / tileSums(expected.spread + expected.single);
  return at::where(at::isfinite(factor), factor, at::ones_like(factor)).clamp_min(0.25);
}

/// The 2-norm of D independent errors stays below (1 + λ / √D) of its root mean square with the
/// probability with which one number stays below 1 + λ: λ = 6 is passed once in a billion rows.
/// Half as much again is left for what the expectation gets wrong within a tile. Errors that are
/// few numbers times a vector do not average out over D.
at::Tensor limitsOf(const at::Tensor& device_errors, const RowVariance& v, double width,
                    double slack) {
  const at::Tensor factor = measuredFactor(device_errors, v);
  const double spread = slack * 1.5 * (1 + 6 / std::sqrt(width)), single = slack * kSingleLimit;
  return at::sqrt(spread * spread * factor * v.spread +
                  single * single * (factor * v.single + v.merging));
}

/// Error ÷ limit; 0 where there is no error, infinite where one is not a number.
at::Tensor ratiosOf(const at::Tensor& errors, const at::Tensor& limits) {
  const at::Tensor ratios = at::where(errors == 0, at::zeros_like(errors), errors / limits);
  return at::where(at::isnan(ratios),
                   at::full_like(ratios, std::numeric_limits<double>::infinity()), ratios);
}

/// The largest ratio of every `rows_a_code` rows, coded.
traces::RowRatios coded(const at::Tensor& ratios) {
  traces::RowRatios rows;
  rows.shape = ratios.sizes().vec();
  rows.rows_a_code = std::max<std::int64_t>(
      1, (ratios.numel() + traces::RowRatios::kMostCodes - 1) / traces::RowRatios::kMostCodes);
  at::Tensor flat = ratios.flatten();
  const std::int64_t missing =
      (rows.rows_a_code - flat.numel() % rows.rows_a_code) % rows.rows_a_code;
  flat = at::cat({flat, flat.new_zeros({missing})}).view({-1, rows.rows_a_code}).amax(1);
  flat = flat.cpu().contiguous();
  const auto* values = flat.const_data_ptr<double>();
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    rows.codes.push_back(traces::RowRatios::encode(values[i]));
  return rows;
}

std::vector<std::int64_t> unravel(std::int64_t flat, at::IntArrayRef sizes) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) index[d] = flat % sizes[d];
  return index;
}

/// Of what has the largest ratio; all are of one shape.
void keepWorstRow(traces::DiffRecord& diff, const at::Tensor& ratios, const at::Tensor& errors,
                  const at::Tensor& limits, const at::Tensor& scales) {
  const auto worst = ratios.argmax().item<std::int64_t>();
  const auto at_worst = [worst](const at::Tensor& rows) {
    return rows.flatten()[worst].item<double>();
  };
  diff.ratio = at_worst(ratios);
  diff.error = at_worst(errors);
  diff.limit = at_worst(limits);
  diff.scale = at_worst(scales);
  diff.worst_index = unravel(worst, ratios.sizes());
}

/// The ratios of all rows, and the largest of each rank of the layout.
void keepRatios(traces::DiffRecord& diff, const at::Tensor& ratios, const BatchLayout* layout,
                std::int64_t seq_dim) {
  diff.rows = coded(ratios);
  if (!layout) return;
  for (const GroupRank rank : everyRank(layout->cpSize()))
    diff.ratio_by_rank.push_back(layout->shardOf(ratios, seq_dim, rank).max().item<double>());
}

}  // namespace

double unitRoundoff(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return std::numeric_limits<double>::epsilon() / 2;
    case at::kBFloat16:
      return 0x1p-8;
    case at::kHalf:
      return 0x1p-11;
    default:
      return std::numeric_limits<float>::epsilon() / 2;
  }
}

at::Tensor rowErrors(const at::Tensor& actual, const at::Tensor& reference) {
  return rowNorms(difference(actual, reference));
}

at::Tensor rowLimits(const Comparison& of, const RowVariance* variance, bool propagated) {
  const at::Tensor exact = of.reference.detach().to(at::kDouble),
                   device_errors = rowErrors(of.device, exact);
  const double width = isOfNumbers(exact) ? 1 : static_cast<double>(exact.size(-1));
  if (variance && !propagated) return limitsOf(device_errors, *variance, width, 1);
  RowVariance expected = plainVariance(rowNorms(exact), of.device.scalar_type());
  if (variance)
    expected = {expected.spread + variance->spread, variance->single, variance->merging};
  return limitsOf(device_errors, expected, width,
                  exact.dim() <= 2 ? kGradientSlack : kPropagatedSlack);
}

void measureError(traces::DiffRecord& diff, const Comparison& of, const RowVariance* variance,
                  const BatchLayout* layout, std::int64_t seq_dim, bool propagated) {
  const at::Tensor exact = of.reference.detach().to(at::kDouble);
  const DifferenceTotals totals = differenceTotals(of.actual, exact);
  diff.largest = totals.largest;
  if (exact.numel() == 0) return;
  const at::Tensor errors = rowErrors(of.actual, exact),
                   limits = rowLimits(of, variance, propagated);
  const at::Tensor ratios = ratiosOf(errors, limits);
  keepWorstRow(diff, ratios, errors, limits, rowNorms(exact));
  keepRatios(diff, ratios, layout, seq_dim);
}

void measureElements(traces::DiffRecord& diff, const at::Tensor& actual,
                     const at::Tensor& reference, const at::Tensor& limits,
                     const BatchLayout* layout, std::int64_t seq_dim) {
  const at::Tensor exact = reference.detach().to(at::kDouble), errors = difference(actual, exact);
  if (exact.numel() == 0) return;
  const at::Tensor ratios = ratiosOf(errors, limits);
  diff.largest = errors.max().item<double>();
  keepWorstRow(diff, ratios, errors, limits, exact.abs());
  keepRatios(diff, ratios.dim() < 2 ? ratios : ratios.amax(-1), layout, seq_dim);
}

void measureNumber(traces::DiffRecord& diff, double actual, double reference, double limit) {
  const auto number = [](double x) { return at::tensor({x}, at::kDouble); };
  measureElements(diff, number(actual), number(reference), number(limit));
}

void measureMean(traces::DiffRecord& diff, double actual, double reference,
                 const at::Tensor& errors) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, errors.numel()));
  const at::Tensor known = errors.masked_select(at::isfinite(errors));
  const double of_one_by_one = std::sqrt(at::square(known).sum().item<double>()) / count,
               of_all = std::abs(known.sum().item<double>()) / count,
               last_digit = unitRoundoff(at::kFloat) * std::abs(reference);
  measureNumber(diff, actual, reference, kMeanLimit * (of_one_by_one + of_all + last_digit));
}

ErrorMaps errorMaps(const at::Tensor& actual, const at::Tensor& reference) {
  const at::Tensor error = difference(actual, reference);
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const at::Tensor same = error == 0, finite = at::isfinite(error);
  auto part = [&](const at::Tensor& unit) {
    // Where the reference is 0 a quotient may pass what float32 holds; infinite it is only where
    // the error is.
    const at::Tensor quotient = error / unit,
                     held = quotient.clamp_max(std::numeric_limits<float>::max());
    return largestByRow(at::where(same, at::zeros_like(error), at::where(finite, held, quotient)));
  };
  return {largestByRow(error), part(exact.abs().clamp_min(0x1p-126)),
          part(unitInLastPlace(exact, actual.scalar_type()))};
}

}  // namespace ringscope::engine
