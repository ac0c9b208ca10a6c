// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/error_measure.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "engine/tensors/wide.h"
#include "engine/verify/difference.h"
#include "engine/verify/rounding_limits.h"

namespace ringscope::engine {
namespace {

constexpr double kMeanLimit = 4;

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
    diff.ratio_by_rank.push_back(layout->shardFor(ratios, seq_dim, rank).max().item<double>());
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

void measureError(traces::DiffRecord& diff, const Comparison& of, const TensorVariance* variance,
                  const BatchLayout* layout, std::int64_t seq_dim, bool propagated) {
  const at::Tensor exact = wide(of.reference);
  measureRows(diff, of.actual, {{exact, rowLimits(exact, of.device, variance, propagated)}}, layout,
              seq_dim);
}

void measureRows(traces::DiffRecord& diff, const at::Tensor& actual,
                 const std::vector<HeldTo>& held_to, const BatchLayout* layout,
                 std::int64_t seq_dim) {
  const RowDifferences rows = rowDifferences(actual, wide(held_to.front().reference));
  std::vector<Wide> errors{Wide(rows.errors)}, limits;
  for (const HeldTo& held : held_to) {
    limits.emplace_back(held.limits);
    if (limits.size() > 1) errors.emplace_back(rowErrors(actual, held.reference));
  }
  const Wide norms(rows.norms);
  RatioMeasure measure = RatioMeasure::ofRows(rows.errors.sizes());
  for (std::int64_t i = 0; i < norms.size(); ++i) {
    std::size_t most = 0;
    for (std::size_t other = 1; other < errors.size(); ++other)
      if (!(errors[other][i] * limits[most][i] <= errors[most][i] * limits[other][i])) most = other;
    measure.add(errors[most][i], limits[most][i], norms[i]);
  }
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

/// Returns the limit of a mean over targets: the error of one target. The errors of targets have a
/// part in common (measured in bf16: two of them correlate by 0.005 to 0.01). The mean of one
/// device's errors may be small by luck.
double limitOfMean(double reference, const at::Tensor& errors) {
  const auto count = static_cast<double>(std::max<std::int64_t>(1, errors.numel()));
  const at::Tensor known = errors.masked_select(at::isfinite(errors));
  const double of_one = std::sqrt(at::square(known).sum().item<double>() / count),
               of_all = std::abs(known.sum().item<double>()) / count,
               last_digit = unitRoundoff(at::kFloat) * std::abs(reference);
  return kMeanLimit * (of_one / std::sqrt(count) + of_all + last_digit) + of_one;
}

ErrorMaps errorMaps(const at::Tensor& actual, const at::Tensor& reference) {
  const at::Tensor exact = wide(reference), a = wide(actual),
                   error = at::where(a == exact, at::zeros_like(exact), (a - exact).abs());
  const at::Tensor same = error == 0, finite = at::isfinite(error);
  auto part = [&](const at::Tensor& unit) {
    // With a reference of 0 a quotient may exceed the range of float32. It may only be infinite if
    // the error is.
    const at::Tensor quotient = error / unit,
                     held = quotient.clamp_max(std::numeric_limits<float>::max());
    return largestByRow(at::where(same, at::zeros_like(error), at::where(finite, held, quotient)));
  };
  return {largestByRow(error), part(exact.abs().clamp_min(0x1p-126)),
          part(unitInLastPlace(exact, actual.scalar_type()))};
}

}  // namespace ringscope::engine
