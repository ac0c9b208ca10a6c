// SPDX-License-Identifier: Apache-2.0
// The part of CUDA's interface that the kernels use, on the host. Launches run at once; a stream is
// the seed of the order of lanes.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tests/engine/simt/warps.h"

// NOLINTBEGIN(readability-identifier-naming): CUDA's names

#define __device__
#define __global__
#define blockIdx (ringscope::simt::blockOfLane())
#define threadIdx (ringscope::simt::threadOfLane())

using cudaStream_t = const unsigned*;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };

struct cudaLaunchConfig_t {
  unsigned gridDim = 0, blockDim = 0;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments... arguments) {
  ringscope::simt::runGrid(config->gridDim, config->blockDim, *config->stream,
                           [&] { kernel(arguments...); });
  return cudaSuccess;
}

inline void __syncwarp() {
  ringscope::simt::meet();
}
inline float __shfl_xor_sync(unsigned /*lanes*/, float value, int mask) {
  return ringscope::simt::exchange(value, mask);
}
// NOLINTEND(readability-identifier-naming)
