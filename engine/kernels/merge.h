// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/attention_op.h"

namespace ringscope::engine {

/// The running result of a shard's queries while blocks arrive. out: [B, Hq, S, D]; lse:
/// [B, Hq, S], both in fp32 (fp64 for fp64 inputs). A row that has seen no key has out 0 and lse
/// -inf.
using RunningResult = AttentionResult;

/// Merges a block's result into rows [q_begin, q_begin + block rows) of `running`, in one pass:
///   `m = max(lse, block_lse), w = exp(lse − m), block_w = exp(block_lse − m)`,
///   `out' = (w·out + block_w·block_out) / (w + block_w), lse' = m + log(w + block_w)`.
/// Rows whose block_lse is -inf stay unchanged. The formula is Transformer Engine's correction of
/// out and lse. ring-flash-attention writes it as a sigmoid, which is NaN for two rows without
/// keys.
void mergeBlock(RunningResult& running, const AttentionResult& block, std::int64_t q_begin);

/// Makes a running result in which no row has seen a key.
RunningResult emptyRunningResult(const at::Tensor& q);
/// Makes a running result whose out is not initialized. Use it only if merges reach every row.
RunningResult unwrittenRunningResult(const at::Tensor& q);

}  // namespace ringscope::engine
