// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/schema/run_spec.h"

namespace ringscope::traces {

/// (query, key) pairs that each rank of the cp group attends of the block of each other:
/// pairs[rank][source]. By the definition of the balances and masks, in closed form. Throws
/// usageError for documents, which only data know.
std::vector<std::vector<std::int64_t>> attendedPairs(const RunSpec& run);

/// The same where `ulysses` neighbouring ranks hold their shards together: pairs[ring][source].
std::vector<std::vector<std::int64_t>> joinedPairs(
    const std::vector<std::vector<std::int64_t>>& pairs, std::int32_t ulysses);

/// What kernels do to attend a block: the pairs that they compute, with those of their tiles that
/// the mask then leaves out, and how often one is called.
struct KernelWork {
  std::int64_t pairs = 0, calls = 0;
};
/// Of the engine (engine/attention/pieces.h) on PyTorch's flash kernel for CPUs, which goes through
/// a causal square by 32 to 256 rows (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp):
/// work[ring][source], where `ulysses` neighbouring ranks hold their shards together. Throws as
/// attendedPairs().
std::vector<std::vector<KernelWork>> kernelWork(const RunSpec& run, std::int32_t ulysses);

}  // namespace ringscope::traces
