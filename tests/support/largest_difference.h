// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

namespace ringscope::test {

/// Returns the largest |a − b| in fp64; equal infinities differ by 0.
inline double largestDifference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor a64 = a.to(at::kDouble), b64 = b.to(at::kDouble);
  return at::where(a64 == b64, at::zeros_like(a64), (a64 - b64).abs()).max().item<double>();
}

}  // namespace ringscope::test
