// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>

/// The functions that the engine needs of an NVIDIA GPU. A build without CUDA has all of them and
/// reports why they cannot be used. The kernels are in kernels.cu; tests compare each with its CPU
/// twin.
namespace ringscope::engine::gpu {

/// Returns why no GPU can be used; empty: one can be used.
std::string unavailable();
int count();

/// Makes a new stream on GPU `index` for the calling thread's work.
void useOwnStream(int index);
/// Waits until the calling thread's stream has finished. Throws runFailed if its work failed.
void synchronize();
/// Waits until a GPU has finished the work of all threads. Call it before reading another thread's
/// results.
void synchronizeAll(int index);
/// Copies between host and device memories and waits. The writer of `from` must have finished.
void copyBytes(void* to, const void* from, std::size_t bytes);

/// Merges a block into the same rows of a running result, in place. Twin: mergeBlock in
/// kernels/merge.h. out, block_out: [B, H, rows, D]; lse, block_lse: [B, H, rows].
void mergeRows(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& block_out,
               const at::Tensor& block_lse);
/// Writes x as e4m3 to `values` (contiguous, shaped like x) and its scales to `scales` (contiguous
/// fp32, one per row). Twin: quantiseRows in kernels/fp8.h.
void quantiseRows(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales);

}  // namespace ringscope::engine::gpu
