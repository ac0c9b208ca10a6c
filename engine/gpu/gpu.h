// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>

/// What the engine asks of an NVIDIA GPU. A build without CUDA has all of it too, and says why it
/// cannot be used. The kernels are in kernels.cu; each has a twin for the CPU that tests compare.
namespace ringscope::engine::gpu {

/// Why there is none to use; empty: there is one.
std::string unavailable();
int count();

/// The calling thread's work goes to GPU `index`, on a stream of its own.
void useOwnStream(int index);
/// Waits until the calling thread's stream has done its work. Throws runFailed when that failed.
void synchronize();
/// Waits until a GPU has done the work of all threads: for whoever reads what another computed.
void synchronizeAll(int index);
/// Copies between any memories, and waits. What wrote `from` must be complete.
void copyBytes(void* to, const void* from, std::size_t bytes);

/// Merges a block into the same rows of a running result, in place. Twin: mergeBlock in
/// attention/merge.h. out, block_out: [B, H, rows, D]; lse, block_lse: [B, H, rows].
void mergeRows(const at::Tensor& out, const at::Tensor& lse, const at::Tensor& block_out,
               const at::Tensor& block_lse);
/// Writes x as e4m3 into `values` (contiguous, shaped as x) and its scales into `scales`
/// (contiguous fp32, one a row). Twin: quantiseRows in attention/fp8.h.
void quantiseRows(const at::Tensor& x, const at::Tensor& values, const at::Tensor& scales);

}  // namespace ringscope::engine::gpu
