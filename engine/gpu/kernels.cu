// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "engine/gpu/kernels.h"

namespace ringscope::engine::gpu {
// Not an anonymous namespace: nvcc puts the path of this file into names from those.
namespace kernels {

constexpr int kWarp = 32, kWarpsPerBlock = 8, kThreads = kWarp * kWarpsPerBlock;

/// Calls f with a value of the C++ type for `type`.
template <typename F>
cudaError_t withType(Element type, F f) {
  switch (type) {
    case Element::kFloat:
      return f(float{});
    case Element::kDouble:
      return f(double{});
    case Element::kBFloat16:
      return f(__nv_bfloat16{});
    case Element::kHalf:
      return f(__half{});
  }
  return cudaErrorInvalidValue;
}

template <typename To>
__device__ To as(float x) {
  return static_cast<To>(x);
}
template <typename To>
__device__ To as(double x) {
  return static_cast<To>(x);
}
template <typename To>
__device__ To as(__nv_bfloat16 x) {
  return static_cast<To>(__bfloat162float(x));
}
template <typename To>
__device__ To as(__half x) {
  return static_cast<To>(__half2float(x));
}

__device__ std::int64_t placeFor(const RowPlace& p, std::int64_t b, std::int64_t h,
                                 std::int64_t s) {
  return b * p.batch + h * p.head + s * p.row;
}

/// Merges one row per warp, with the formula of mergeBlock (merge.h).
template <typename Acc, typename Block>
__global__ void mergeRows(MergeArguments a) {
  const std::int64_t i = blockIdx.x * std::int64_t{kWarpsPerBlock} + threadIdx.x / kWarp;
  if (i >= a.batch * a.heads * a.rows) return;
  const int lane = threadIdx.x % kWarp;
  const std::int64_t s = i % a.rows, h = i / a.rows % a.heads, b = i / a.rows / a.heads;
  const Acc theirs = static_cast<const Acc*>(a.block_lse)[placeFor(a.block_lse_at, b, h, s)];
  if (isinf(theirs) && theirs < 0) return;
  Acc* lse = static_cast<Acc*>(a.lse) + placeFor(a.lse_at, b, h, s);
  const Acc mine = *lse;
  const bool is_first = isinf(mine) && mine < 0;  // out is not written yet, so it may hold NaN
  const bool first_larger = mine >= theirs;
  const Acc m = first_larger ? mine : theirs, smaller = exp(-fabs(mine - theirs));
  const Acc my_weight = first_larger ? 1 : smaller, their_weight = first_larger ? smaller : 1;
  const Acc sum = my_weight + their_weight;
  const Acc keep = my_weight / sum, add = their_weight / sum;
  Acc* out = static_cast<Acc*>(a.out) + placeFor(a.out_at, b, h, s);
  const Block* block = static_cast<const Block*>(a.block_out) + placeFor(a.block_out_at, b, h, s);
  for (std::int64_t d = lane; d < a.width; d += kWarp) {
    const Acc added = as<Acc>(block[d]);
    out[d] = is_first ? added : keep * out[d] + add * added;
  }
  __syncwarp();  // every lane has read lse
  if (lane == 0) *lse = is_first ? theirs : m + log(sum);
}

/// Quantises one row per warp. Scales its largest magnitude to 448.
template <typename T>
__global__ void quantiseRows(const T* x, std::int64_t rows, std::int64_t width,
                             std::uint8_t* values, float* scales) {
  const std::int64_t row = blockIdx.x * std::int64_t{kWarpsPerBlock} + threadIdx.x / kWarp;
  if (row >= rows) return;
  const int lane = threadIdx.x % kWarp;
  float largest = 0;
  for (std::int64_t d = lane; d < width; d += kWarp)
    largest = fmaxf(largest, fabsf(as<float>(x[row * width + d])));
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
  const float scale = largest > 0 ? largest / 448.0f : 1.0f;
  if (lane == 0) scales[row] = scale;
  for (std::int64_t d = lane; d < width; d += kWarp)
    values[row * width + d] =
        __nv_cvt_float_to_fp8(as<float>(x[row * width + d]) / scale, __NV_SATFINITE, __NV_E4M3);
}

/// Queues a kernel that works on one row per warp. Does nothing for no rows.
template <typename Kernel, typename... Arguments>
cudaError_t launchRows(Kernel kernel, std::int64_t rows, cudaStream_t stream,
                       Arguments... arguments) {
  if (rows == 0) return cudaSuccess;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>((rows + kWarpsPerBlock - 1) / kWarpsPerBlock);
  config.blockDim = kThreads;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace kernels

using namespace kernels;

cudaError_t launchMerge(const MergeArguments& a, Element block_type, cudaStream_t stream) {
  const std::int64_t rows = a.batch * a.heads * a.rows;
  return withType(block_type, [&](auto block) {
    using Block = decltype(block);
    if constexpr (std::is_same_v<Block, double>)
      return launchRows(mergeRows<double, double>, rows, stream, a);
    else
      return launchRows(mergeRows<float, Block>, rows, stream, a);
  });
}

cudaError_t launchQuantise(const void* x, Element type, std::int64_t rows, std::int64_t width,
                           std::uint8_t* values, float* scales, cudaStream_t stream) {
  return withType(type, [&](auto element) {
    using T = decltype(element);
    return launchRows(quantiseRows<T>, rows, stream, static_cast<const T*>(x), rows, width, values,
                      scales);
  });
}

}  // namespace ringscope::engine::gpu
