// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/model/llama_model.h"
#include "engine/plan.h"
#include "engine/verify/merged_blocks.h"

namespace ringscope::engine {

/// How large the rounding errors of each row of one tensor are to be expected: mean squares of
/// their 2-norms, fp64, [B, H, S].
struct RowVariance {
  at::Tensor spread;   ///< of errors that are independent from element to element of a row
  at::Tensor terms;    ///< of errors of many numbers, each times a vector: stored weights
  at::Tensor single;   ///< of errors that are few numbers times a vector: a weight's, delta's
  at::Tensor merging;  ///< what merging of blocks adds to `single`, and one device does not show
  at::Tensor tiles;  ///< the part of `spread` that is of the size of each element; undefined: none
  double bounded = 0;  ///< no square, of all rows: what an error of its own kind cannot pass
  /// What merging of blocks and sums over ranks add to `spread`, and one device does not show;
  /// undefined: none.
  at::Tensor adding;
};

/// Parts of one tensor, one after another along a dimension.
RowVariance joined(const std::vector<RowVariance>& parts, std::int64_t dim);

struct AttentionVariance {
  RowVariance out, lse, dq, dk, dv;
};

/// For an attention in `type` (fp32, fp64, bf16 or fp16) whose exact inputs and results `exact`
/// holds: q, k, v, dout as they were used, out, lse, dq, dk, dv in fp64. `blocks`: the blocks that
/// were merged. The derivation is in the source. Works through blocks of query rows in fp32, which
/// is enough for a size.
AttentionVariance attentionVariance(const LayerAttention& exact, const Mask& mask,
                                    const MergedBlocks& blocks, double scale, at::ScalarType type);

}  // namespace ringscope::engine
