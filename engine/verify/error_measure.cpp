// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/error_measure.h"

#include <ATen/ATen.h>

#include <limits>

#include "engine/data/sharded_batch.h"

namespace ringscope::engine {
namespace {

/// |a − b| in fp64. Equal infinities differ by 0.
at::Tensor difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor a64 = a.detach().to(at::kDouble), b64 = b.detach().to(at::kDouble);
  return at::where(a64 == b64, at::zeros_like(b64), (a64 - b64).abs());
}

/// The largest entry; NaN when there is one.
double largest(const at::Tensor& t) {
  return t.numel() == 0 ? 0 : t.max().item<double>();
}

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

std::vector<std::int64_t> unravel(std::int64_t flat, at::IntArrayRef sizes) {
  std::vector<std::int64_t> index(sizes.size());
  for (std::size_t d = sizes.size(); d-- > 0; flat /= sizes[d]) index[d] = flat % sizes[d];
  return index;
}

}  // namespace

void measureError(traces::DiffRecord& diff, const at::Tensor& actual, const at::Tensor& reference,
                  const at::Tensor& device, const ShardLayout* layout, std::int64_t seq_dim) {
  const at::Tensor error = difference(actual, reference);
  const at::Tensor finite = reference.detach().to(at::kDouble).nan_to_num(0, 0, 0).abs();
  diff.error = largest(error);
  diff.scale = largest(finite);
  // A single number may be exact by luck; the largest error of many elements hardly ever is.
  const double floor =
      unitRoundoff(device.scalar_type()) * diff.scale * (reference.numel() == 1 ? 2 : 0.25);
  diff.noise = std::max(largest(difference(device, reference)), floor);
  auto multiple = [&](double value) { return value == 0 ? 0 : value / diff.noise; };
  diff.multiple = multiple(diff.error);
  diff.worst_index = unravel(error.reshape({-1}).argmax().item<std::int64_t>(), error.sizes());
  if (!layout) return;
  for (int rank = 0; rank < layout->cpSize(); ++rank)
    diff.multiple_by_rank.push_back(multiple(largest(shardOf(error, seq_dim, *layout, rank))));
}

}  // namespace ringscope::engine
