// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The relation of a running lse to the lse of the blocks that were merged into it.
enum class MergeIs {
  kUnknown,
  kRight,
  kOfBadBlocks,    ///< a block has a NaN or +inf already
  kNotANumber,     ///< NaN, of blocks that are finite, or −inf where a row has no key
  kInfinite,       ///< +inf, of such blocks
  kLost,           ///< −inf in a row for which a block has keys
  kOutNotANumber,  ///< out is NaN, of finite blocks, of which some have rows without a key
};

/// The first running result that its blocks do not explain; of all where there is none.
struct MergeReading {
  MergeIs is = MergeIs::kUnknown;
  const TensorRecord* made = nullptr;  ///< it, or the out, into the trace; null: of all
  double smallest = 0, largest = 0;    ///< of the finite lse of the blocks
  bool rows_without_keys = false;      ///< some of them are −inf

  /// One running result is none that its blocks give.
  bool isWrong() const { return made != nullptr; }
};

/// Compares which elements of running_lse are finite with those of block_lse, and of out with those
/// of block_out.
MergeReading readMerges(const Trace& trace);

}  // namespace ringscope::traces
