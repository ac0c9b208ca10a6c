// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/fp8.h"

#include <ATen/ATen.h>

#include "engine/gpu/gpu.h"

namespace ringscope::engine {
namespace {

constexpr double kLargestE4m3 = 448;

Quantised quantisedOnGpu(const at::Tensor& x) {
  auto scale_shape = x.sizes().vec();
  scale_shape.back() = 1;
  Quantised q{at::empty(x.sizes(), x.options().dtype(at::kFloat8_e4m3fn)),
              at::empty(scale_shape, x.options().dtype(at::kFloat))};
  gpu::quantiseRows(x, q.values, q.scales);
  return q;
}

}  // namespace

Quantised quantiseRows(const at::Tensor& x) {
  if (x.is_cuda()) return quantisedOnGpu(x);
  const at::Tensor largest = x.detach().abs().amax(-1, true).to(at::kFloat);
  const at::Tensor scales = at::where(largest > 0, largest / kLargestE4m3, at::ones_like(largest));
  return {(x.to(at::kFloat) / scales).to(at::kFloat8_e4m3fn), scales};
}

at::Tensor roundedToFp8(const at::Tensor& x) {
  const Quantised q = quantiseRows(x);
  return (q.values.to(at::kFloat) * q.scales).to(x.scalar_type());
}

}  // namespace ringscope::engine
