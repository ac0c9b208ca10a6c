// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/error_measure.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "engine/data/sharded_batch.h"
#include "engine/verify/difference.h"

namespace ringscope::engine {
namespace {

/// |a − b| in fp64. Equal infinities differ by 0.
at::Tensor difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor a64 = a.detach().to(at::kDouble), b64 = b.detach().to(at::kDouble);
  return at::where(a64 == b64, at::zeros_like(b64), (a64 - b64).abs());
}

/// What one device's errors say of rounding in general. The largest error of a few elements may be
/// small by luck: of normally distributed ones it nears four times their root mean square only
/// among ten thousand, so it counts for at least that. A single number may even be exact.
double noiseFloor(const at::Tensor& device, const at::Tensor& reference) {
  const DifferenceTotals error = differenceTotals(device, reference);
  const auto count = static_cast<double>(std::max<std::int64_t>(1, device.numel()));
  const double floor =
      unitRoundoff(device.scalar_type()) * error.scale * (device.numel() == 1 ? 2 : 0.25);
  return std::max({error.largest, 4 * std::sqrt(error.sum_squares / count), floor});
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

/// Rows are along the last dimension, but single numbers where that is the sequence ([B, H, S]) or
/// all there is.
traces::RowRatios rowRatios(const at::Tensor& actual, const at::Tensor& exact, double noise) {
  at::Tensor rows = difference(actual, exact);
  if (rows.dim() == 2 || rows.dim() > 3) rows = rows.amax(-1);
  traces::RowRatios ratios;
  ratios.shape = rows.sizes().vec();
  ratios.rows_a_code = std::max<std::int64_t>(
      1, (rows.numel() + traces::RowRatios::kMostCodes - 1) / traces::RowRatios::kMostCodes);
  const std::int64_t missing = -rows.numel() % ratios.rows_a_code + ratios.rows_a_code;
  rows = rows.flatten();
  if (missing < ratios.rows_a_code) rows = at::cat({rows, rows.new_zeros({missing})});
  rows = rows.view({-1, ratios.rows_a_code}).amax(1).cpu().contiguous();
  const auto* errors = rows.const_data_ptr<double>();
  for (std::int64_t i = 0; i < rows.numel(); ++i)
    ratios.codes.push_back(traces::RowRatios::encode(errors[i] == 0 ? 0 : errors[i] / noise));
  return ratios;
}

std::vector<std::int64_t> unravel(std::int64_t flat, at::IntArrayRef sizes) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) index[d] = flat % sizes[d];
  return index;
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

void measureError(traces::DiffRecord& diff, const at::Tensor& actual, const at::Tensor& reference,
                  const at::Tensor& device, const ShardLayout* layout, std::int64_t seq_dim) {
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const DifferenceTotals error = differenceTotals(actual, exact);
  diff.error = error.largest;
  diff.scale = error.scale;
  diff.noise = noiseFloor(device, exact);
  auto multiple = [&](double value) { return value == 0 ? 0 : value / diff.noise; };
  diff.multiple = multiple(diff.error);
  diff.worst_index = unravel(error.worst, exact.sizes());
  if (exact.numel() > 0) diff.rows = rowRatios(actual, exact, diff.noise);
  if (!layout) return;
  for (const GroupRank rank : everyRank(layout->cpSize()))
    diff.multiple_by_rank.push_back(
        multiple(differenceTotals(shardOf(actual, seq_dim, *layout, rank),
                                  shardOf(exact, seq_dim, *layout, rank))
                     .largest));
}

ErrorMaps errorMaps(const at::Tensor& actual, const at::Tensor& reference) {
  const at::Tensor error = difference(actual, reference);
  const at::Tensor exact = reference.detach().to(at::kDouble);
  const at::Tensor same = error == 0;
  auto part = [&](const at::Tensor& unit) {
    return largestByRow(at::where(same, at::zeros_like(error), error / unit));
  };
  return {largestByRow(error), part(exact.abs().clamp_min(0x1p-126)),
          part(unitInLastPlace(exact, actual.scalar_type()))};
}

}  // namespace ringscope::engine
