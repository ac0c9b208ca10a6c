// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/query/moment_index.h"
#include "traces/query/trace.h"

namespace ringscope::viz {

/// What one block brought to one output row.
struct MergeStep {
  int ring_step = 0;
  int source_rank = -1;
  bool attended = false;  ///< false: the mask left nothing of this block for the row
  double block_lse = 0;
  double running_lse = 0;  ///< after this block
  double weight = 0;       ///< of the block in the final output: exp(block_lse − lse)
  double running_out = 0;  ///< first element, after this block, merged in fp64
};

/// How one output row (rank, batch 0, head, local query) came together.
struct MergeHistory {
  std::vector<MergeStep> steps;
  double lse = 0;     ///< recorded
  double out = 0;     ///< recorded, first element
  double merged = 0;  ///< the blocks merged again with their weights
  double naive = 0;   ///< what adding the blocks would give
  double largest_error_merged = 0,
         largest_error_naive = 0;  ///< over the row's elements, against recorded
  std::string missing;             ///< what would have to be recorded; empty when all is there
};

MergeHistory mergeHistory(const traces::Trace& trace, const traces::MomentIndex& index,
                          traces::Place pass, int rank, std::int64_t head, std::int64_t query);

}  // namespace ringscope::viz
