// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Kernels on raw memory, for sm_80 and sm_90. Each function queues its work on `stream` and
/// returns the status of the launch.
namespace ringscope::engine::gpu {

enum class Element { kFloat, kDouble, kBFloat16, kHalf };

/// The strides of a [B, H, S, …] tensor: row (b, h, s) begins at their combination, in elements.
struct RowPlace {
  std::int64_t batch, head, row;
};

struct MergeArguments {
  void *out, *lse;                    ///< fp32, or fp64 with fp64 blocks
  const void *block_out, *block_lse;  ///< block_lse in the type of lse
  RowPlace out_at, lse_at, block_out_at, block_lse_at;
  std::int64_t batch, heads, rows, width;
};
cudaError_t launchMerge(const MergeArguments& a, Element block_type, cudaStream_t stream);

/// Quantises x, which is contiguous. values: e4m3 bytes [rows, width]; scales: [rows].
cudaError_t launchQuantise(const void* x, Element type, std::int64_t rows, std::int64_t width,
                           std::uint8_t* values, float* scales, cudaStream_t stream);

}  // namespace ringscope::engine::gpu
