// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "engine/attention/merge.h"
#include "engine/attention/strategies/kv_wire.h"
#include "engine/verify/difference.h"

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
/// Copies between any memories, and waits. What wrote `from` must be complete.
void copyBytes(void* to, const void* from, std::size_t bytes);

/// mergeBlock for CUDA tensors.
void mergeBlock(RunningResult& running, const AttentionResult& block, std::int64_t q_begin);
/// quantiseRows for CUDA tensors.
Quantised quantiseRows(const at::Tensor& x);
/// differenceTotals for CUDA tensors.
DifferenceTotals differenceTotals(const at::Tensor& actual, const at::Tensor& reference);

}  // namespace ringscope::engine::gpu
