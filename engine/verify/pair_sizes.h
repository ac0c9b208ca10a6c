// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/model/llama_model.h"
#include "engine/plan.h"
#include "engine/verify/merged_blocks.h"

namespace ringscope::engine {

/// Squares of the 2-norms of rows: [..., D] to [...].
at::Tensor rowSquares(const at::Tensor& t);

/// The inputs and results of one attention in fp32, dout in units of its largest element.
struct AttentionSizes {
  AttentionSizes(const LayerAttention& exact, const Mask& of_mask, const MergedBlocks& of_blocks,
                 double of_scale);

  const Mask& mask;
  const MergedBlocks& blocks;
  double scale2, scale;
  double group;  ///< query heads of a key head
  bool has_sinks;
  double dout_size;
  at::Tensor q, k, v, dout, out, lse, k2, v2;
};

/// What a block of query rows and all keys know of each other: [B, H, rows, keys].
struct PairSizes {
  PairSizes(const AttentionSizes& in, std::int64_t row, std::int64_t rows);

  at::Tensor p2;         ///< squares of the weights
  at::Tensor moved;      ///< p²(1 − p)
  at::Tensor ds2;        ///< squares of the scores' gradients, without scale
  at::Tensor allowed;    ///< 1 where the mask allows a pair
  at::Tensor mean_key2;  ///< |Σp·k|²; [B, H, rows]
  MergeSums merges;
};

}  // namespace ringscope::engine
