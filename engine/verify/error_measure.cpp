// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/error_measure.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "engine/tensors/wide.h"
#include "engine/verify/difference.h"

namespace ringscope::engine {
namespace {

constexpr std::int64_t kTile = 32;  ///< neighbouring rows whose errors are measured together
constexpr double kSpreadSlack = 1.1;
constexpr double kTermsLimit = 2.9;
constexpr double kSingleLimit = 8;
constexpr double kMeanLimit = 4;
/// A row in which one device is far off is a hard one for every device: much of its rounding, of
/// stored weights above all, is the same whatever the tiling.
constexpr double kDeviceSlack = 2;
/// Errors that came through other layers vary more from row to row than those of one attention: a
/// query with one key has no dq but a cancellation. Measured: of 500 comparisons of a right run in
/// fp32 the worst reaches 0.4 of the limit.
constexpr double kPropagatedSlack = 7.5;
/// How many times its root mean square an error of a parameter's gradient may be: of what one
/// device's errors say of the row's neighbourhood, of the whole parameter, and of the row itself.
constexpr double kNearSlack = 7, kWholeSlack = 6, kOwnSlack = 5;
constexpr double kNumberSlack = 1.4;  ///< times more, where a row is a single number

at::Tensor wide(const at::Tensor& t) {
  return t.detach().to(at::kDouble);
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

/// How much larger one device's errors are in a row's neighbourhood than was expected; as a factor
/// of squares. It counts for at least one: errors may be small by luck, and rows with one key have
/// none, which says nothing of their neighbours.
double measuredFactor(double squares, double expected) {
  const double factor = squares / expected;
  return std::isfinite(factor) ? std::max(factor, 1.0) : 1;
}

/// The 2-norm of D independent errors stays below (1 + λ / √D) of its root mean square with the
/// probability with which one number stays below 1 + λ: λ = 5 is passed once in a billion rows.
/// A tenth is left for what the expectation gets wrong within a tile. Numbers that are stored are
/// off by 2.4 times their root mean square at most, so that few of them, each times a vector, stay
/// below that, and many below what is said of D errors. Errors that are few numbers times a vector
/// do not average out over D.
at::Tensor limitsOf(const at::Tensor& device_errors, const RowVariance& v, double width,
                    double slack) {
  const Wide errors(device_errors), spread(v.spread), terms(v.terms), single(v.single),
      merging(v.merging);
  const double most_spread = slack * kSpreadSlack * (1 + 5 / std::sqrt(width)),
               most_terms = slack * kTermsLimit, most_single = slack * kSingleLimit,
               most_bounded = slack * v.bounded;
  at::Tensor limits = at::empty(device_errors.sizes(), at::kDouble);
  auto* of_row = limits.data_ptr<double>();
  eachTile(limits, [&](std::int64_t first, std::int64_t last) {
    double squares = 0, expected = 0;
    for (std::int64_t i = first; i < last; ++i) {
      squares += errors[i] * errors[i];
      expected += spread[i] + terms[i] + single[i] + v.bounded * v.bounded / 6;
    }
    const double factor = measuredFactor(squares, expected);
    for (std::int64_t i = first; i < last; ++i)
      of_row[i] = std::sqrt(most_spread * most_spread * factor * spread[i] +
                            most_terms * most_terms * factor * terms[i] +
                            most_single * most_single * (factor * single[i] + merging[i]) +
                            most_bounded * most_bounded);
    for (std::int64_t i = first; i < last; ++i)
      if (std::isfinite(errors[i])) of_row[i] = std::max(of_row[i], kDeviceSlack * errors[i]);
  });
  return limits;
}

/// What each row's squared error is expected to be, from what was expected of it beforehand and
/// from what one device's errors are in its neighbourhood.
std::vector<double> expectedSquares(const Wide& device_errors, const RowVariance& v) {
  const Wide spread(v.spread), terms(v.terms), single(v.single), merging(v.merging);
  std::vector<double> of_row(static_cast<std::size_t>(device_errors.size()));
  const auto beforehand = [&](std::int64_t i) { return spread[i] + terms[i] + single[i]; };
  eachTile(v.spread, [&](std::int64_t first, std::int64_t last) {
    double squares = 0, expected = 0;
    for (std::int64_t i = first; i < last; ++i) {
      squares += device_errors[i] * device_errors[i];
      expected += beforehand(i);
    }
    const double factor = measuredFactor(squares, expected);
    for (std::int64_t i = first; i < last; ++i)
      of_row[static_cast<std::size_t>(i)] = factor * beforehand(i) + merging[i];
  });
  return of_row;
}

/// A row of a parameter's gradient is a sum over all tokens, of which a few are far louder than the
/// others, so that its error does not average out over its D numbers. Which rows are loud is much
/// the same on every device: of the rows furthest off, the run's error and one device's have a
/// cosine of 0.9. But where a whole head came out well on one device, that was luck.
at::Tensor parameterLimits(const at::Tensor& device_errors, const RowVariance& v, double width) {
  const Wide errors(device_errors);
  const std::vector<double> near = expectedSquares(errors, v);
  at::Tensor limits = at::empty(device_errors.sizes(), at::kDouble);
  auto* of_row = limits.data_ptr<double>();
  const auto squareOfOwn = [&](std::int64_t i) {
    return std::isfinite(errors[i]) ? errors[i] * errors[i] : 0;
  };
  double whole = 0;
  for (std::int64_t i = 0; i < errors.size(); ++i) whole += squareOfOwn(i);
  whole /= static_cast<double>(std::max<std::int64_t>(1, errors.size()));
  for (std::int64_t i = 0; i < errors.size(); ++i)
    of_row[i] =
        (width == 1 ? kNumberSlack : 1) *
        std::sqrt(kNearSlack * kNearSlack * near[static_cast<std::size_t>(i)] +
                  kWholeSlack * kWholeSlack * whole + kOwnSlack * kOwnSlack * squareOfOwn(i));
  return limits;
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

bool isComparable(const at::Tensor& reference) {
  return !at::isnan(reference).any().item<bool>();
}

at::Tensor rowErrors(const at::Tensor& actual, const at::Tensor& reference) {
  return rowDifferences(actual, wide(reference)).errors;
}

at::Tensor rowLimits(const at::Tensor& reference, const at::Tensor& device,
                     const RowVariance* variance, bool propagated) {
  const at::Tensor exact = wide(reference);
  const RowDifferences of_device = rowDifferences(device, exact);
  const double width = isOfNumbers(exact) ? 1 : static_cast<double>(exact.size(-1));
  if (variance && !propagated) return limitsOf(of_device.errors, *variance, width, 1);
  RowVariance expected = plainVariance(of_device.norms, device.scalar_type());
  // What bounds one attention's own errors does not bound those that come with its inputs.
  if (variance)
    expected = {expected.spread + variance->spread, variance->terms, variance->single,
                variance->merging};
  return exact.dim() <= 2 ? parameterLimits(of_device.errors, expected, width)
                          : limitsOf(of_device.errors, expected, width, kPropagatedSlack);
}

void measureError(traces::DiffRecord& diff, const Comparison& of, const RowVariance* variance,
                  const BatchLayout* layout, std::int64_t seq_dim, bool propagated) {
  const at::Tensor exact = wide(of.reference);
  measureRows(diff, of.actual, exact, rowLimits(exact, of.device, variance, propagated), layout,
              seq_dim);
}

void measureRows(traces::DiffRecord& diff, const at::Tensor& actual, const at::Tensor& reference,
                 const at::Tensor& limits, const BatchLayout* layout, std::int64_t seq_dim) {
  const RowDifferences rows = rowDifferences(actual, wide(reference));
  const Wide errors(rows.errors), norms(rows.norms), limit(limits);
  RatioMeasure measure = RatioMeasure::ofRows(rows.errors.sizes());
  for (std::int64_t i = 0; i < errors.size(); ++i) measure.add(errors[i], limit[i], norms[i]);
  measure.write(diff, layout, seq_dim);
  diff.largest = rows.largest;
}

void measureElements(traces::DiffRecord& diff, const at::Tensor& actual,
                     const at::Tensor& reference, const at::Tensor& limits,
                     const BatchLayout* layout, std::int64_t seq_dim) {
  const Wide values(actual), exact(reference), limit(limits.expand_as(reference));
  RatioMeasure measure = RatioMeasure::ofElements(reference.sizes());
  for (std::int64_t i = 0; i < exact.size(); ++i) measure.addElement(values[i], exact[i], limit[i]);
  measure.write(diff, layout, seq_dim);
}

RatioMeasure::RatioMeasure(at::IntArrayRef shape, at::IntArrayRef rows, std::int64_t width)
    : shape_(shape.vec()),
      ratios_(at::zeros(rows, at::kDouble)),
      of_row_(ratios_.data_ptr<double>()),
      width_(width) {}

/// Error ÷ limit; 0 where there is no error, infinite where one is not a number.
void RatioMeasure::keep(double error, double limit, double scale) {
  double ratio = error == 0 ? 0 : error / limit;
  if (std::isnan(ratio)) ratio = std::numeric_limits<double>::infinity();
  of_row_[row_] = std::max(of_row_[row_], ratio);
  if (ratio > worst_.ratio) worst_ = {next_, ratio, error, limit, scale};
}

void RatioMeasure::write(traces::DiffRecord& diff, const BatchLayout* layout,
                         std::int64_t seq_dim) const {
  diff.largest = largest_;
  if (next_ == 0) return;
  diff.ratio = worst_.ratio;
  diff.error = worst_.error;
  diff.limit = worst_.limit;
  diff.scale = worst_.scale;
  diff.worst_index = unravel(worst_.index, shape_);
  keepRatios(diff, ratios_, layout, seq_dim);
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
  const at::Tensor exact = wide(reference), a = wide(actual),
                   error = at::where(a == exact, at::zeros_like(exact), (a - exact).abs());
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
