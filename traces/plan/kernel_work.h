// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// The work of kernels that attend one block, for one head of one sequence.
struct KernelWork {
  std::int64_t pairs = 0;   ///< computed, including those that the mask then drops
  std::int64_t calls = 0;   ///< for all heads and sequences together
  std::int64_t pieces = 0;  ///< of the block; recordings have one event per piece
  std::int64_t rows = 0;    ///< of queries, in all pieces together
  /// The block is one piece of all rows without a tile mask. The first such result of a rank
  /// becomes its running result without a merge.
  bool whole = false;

  friend bool operator==(const KernelWork&, const KernelWork&) = default;
};

/// The work of each ring rank on the block of each other: [ring rank][owner of the block].
using BlockWork = std::vector<std::vector<KernelWork>>;

/// Returns the engine's work, piece by piece (traces/format/schema/pieces.h). PyTorch's flash
/// kernel for CPUs goes through a piece by 32 to 256 rows and 512 keys
/// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp). Groups of `ulysses` neighbouring ranks hold
/// their shards together. Causal squares are cut where blocks are merged on a CPU. Throws what
/// attendedPairs() throws.
BlockWork kernelWork(const RunSpec& run, std::int32_t ulysses, Direction direction);

/// Returns the work of kernels that attend each block in one call and compute no masked pair.
/// Throws what attendedPairs() throws.
BlockWork singleCallWork(const RunSpec& run, std::int32_t ulysses);

}  // namespace ringscope::traces
