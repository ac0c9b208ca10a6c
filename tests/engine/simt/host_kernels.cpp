// SPDX-License-Identifier: Apache-2.0
// The source of the CUDA kernels, compiled for the host with the headers of this folder in place of
// CUDA's.
#include "tests/engine/simt/host_kernels.h"

#include <ATen/ATen.h>

#include <stdexcept>

#define gpu gpu_on_host  // the engine may have the kernels too
#include "engine/gpu/kernels.cu"
#undef gpu

namespace ringscope::simt {
namespace {

using namespace engine::gpu_on_host;

Element elementOf(const at::Tensor& t) {
  switch (t.scalar_type()) {
    case at::kDouble:
      return Element::kDouble;
    case at::kBFloat16:
      return Element::kBFloat16;
    case at::kHalf:
      return Element::kHalf;
    default:
      return Element::kFloat;
  }
}

RowPlace placeFor(const at::Tensor& t) {
  return {t.stride(0), t.stride(1), t.stride(2)};
}

void require(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error("the launch failed");
}

}  // namespace

void mergeRows(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& block_out,
               const at::Tensor& block_lse, unsigned seed) {
  const MergeArguments a{out.data_ptr(),       lse.data_ptr(),      block_out.data_ptr(),
                         block_lse.data_ptr(), placeFor(out),       placeFor(lse),
                         placeFor(block_out),  placeFor(block_lse), block_out.size(0),
                         block_out.size(1),    block_out.size(2),   block_out.size(3)};
  require(launchMerge(a, elementOf(block_out), &seed));
}

void quantiseRows(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales,
                  unsigned seed) {
  const std::int64_t width = x.size(-1);
  require(launchQuantise(x.data_ptr(), elementOf(x), width ? x.numel() / width : 0, width,
                         static_cast<std::uint8_t*>(values.data_ptr()), scales.data_ptr<float>(),
                         &seed));
}

}  // namespace ringscope::simt
