// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// The work of kernels that attend a block, for one head of one sequence.
struct KernelWork {
  std::int64_t pairs = 0;  ///< pairs computed, including pairs that the mask then drops
  std::int64_t calls = 0;  ///< kernel calls for all heads and sequences together
  std::int64_t tiles = 0;  ///< tiles of rows and keys that the calls step through; each tile has
                           ///< its own matrix products
  /// The part of `pairs` in pieces that are computed in float32 although the run uses a narrower
  /// type. `tiles` does not include these pieces.
  std::int64_t small_pairs = 0;
  std::int64_t pieces = 0;  ///< pieces of the block; each is an event
  std::int64_t rows = 0;    ///< query rows of all pieces together
  /// True when the block is one piece of all rows without a tile mask. The first such result of a
  /// rank becomes its running result without a merge.
  bool whole = false;
  /// Threads of one call. In backward they share the key heads of all sequences and, in float32 and
  /// float64, copies of these heads (key_head_copies.h).
  std::int64_t threads = 1;

  friend bool operator==(const KernelWork&, const KernelWork&) = default;
};

/// Returns work[ring][source] for the engine on PyTorch's flash kernel for CPUs, with groups of
/// `ulysses` neighbouring ranks that join their shards. The kernel steps through each piece
/// (traces/format/schema/pieces.h) by 32 to 256 rows and 512 keys
/// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp). Causal squares are cut where blocks are
/// merged on a CPU. Throws as attendedPairs() does.
std::vector<std::vector<KernelWork>> kernelWork(const RunSpec& run, std::int32_t ulysses,
                                                Direction direction);

}  // namespace ringscope::traces
