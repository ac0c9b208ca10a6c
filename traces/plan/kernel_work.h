// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "traces/format/schema/event.h"
#include "traces/format/schema/run_spec.h"

namespace ringscope::traces {

/// What kernels do to attend a block, for one head of one sequence.
struct KernelWork {
  std::int64_t pairs = 0;  ///< computed, with those that the mask then leaves out
  std::int64_t calls = 0;  ///< for all heads and sequences together
  std::int64_t tiles = 0;  ///< of rows and keys that a call goes through, each by its own products
  /// Of `pairs`, those of pieces computed in float32 though the run is in a narrower type;
  /// `tiles` has none of these.
  std::int64_t small_pairs = 0;
  std::int64_t pieces = 0;  ///< of the block, each an event of its own
  std::int64_t rows = 0;    ///< of queries, of all pieces together
  /// It is one piece of all rows without a tile mask. A rank's first result of this kind becomes
  /// its running result as it is.
  bool whole = false;
  /// Of a call. Backward they share out the key heads of all sequences and, in float32 and float64,
  /// copies of them (key_head_copies.h).
  std::int64_t threads = 1;

  friend bool operator==(const KernelWork&, const KernelWork&) = default;
};

/// Of the engine, piece by piece (traces/format/schema/pieces.h), on PyTorch's flash kernel for
/// CPUs, which goes through a piece by 32 to 256 rows and 512 keys
/// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp): work[ring][source], where `ulysses`
/// neighbouring ranks hold their shards together. Causal squares are cut where blocks are merged on
/// a CPU. Throws as attendedPairs().
std::vector<std::vector<KernelWork>> kernelWork(const RunSpec& run, std::int32_t ulysses,
                                                Direction direction);

}  // namespace ringscope::traces
