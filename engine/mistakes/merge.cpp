// SPDX-License-Identifier: Apache-2.0
// Mistakes in the results of blocks and in how they are merged.
#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

void sumBlocks(const SeamPlace&, RunningResult& running, const AttentionResult& block,
               std::int64_t q_begin) {
  const std::int64_t rows = block.lse.size(2);
  running.out.slice(2, q_begin, q_begin + rows).add_(block.out);
  at::Tensor lse = running.lse.slice(2, q_begin, q_begin + rows);
  lse.copy_(at::logaddexp(lse, block.lse));
}

/// Reports whether an exponential overflowed, or vanished although its block has keys.
bool mergeByPlainExponentials(RunningResult& running, const AttentionResult& block,
                              std::int64_t q_begin) {
  const std::int64_t q_end = q_begin + block.lse.size(2);
  const at::Tensor out = running.out.slice(2, q_begin, q_end),
                   lse = running.lse.slice(2, q_begin, q_end);
  const at::Tensor kept = lse.exp(), added = block.lse.exp(), sum = kept + added;
  out.mul_((kept / sum).unsqueeze(-1)).add_((added / sum).unsqueeze(-1) * block.out);
  const auto lost = [](const at::Tensor& logarithm, const at::Tensor& exponential) {
    return at::logical_and(at::isfinite(logarithm),
                           at::logical_or(exponential == 0, at::isinf(exponential)))
        .any()
        .item<bool>();
  };
  const bool is_undefined =
      at::logical_or(sum == 0, at::logical_not(at::isfinite(sum))).any().item<bool>();
  const bool any = is_undefined || lost(lse, kept) || lost(block.lse, added);
  lse.copy_(sum.log());
  return any;
}

}  // namespace

/// The outs of the blocks are added as they are, A_i = Σ_j A_ij, without their log-sum-exp weights.
void injectNaiveSumMerge(Seams& seams) {
  seams.attention.merge = sumBlocks;
}

/// lse' = log(exp(lse) + exp(block_lse)) without taking out the larger one first: exp overflows in
/// fp32 beyond 88, and gives 0 below −103.
void injectLseOverflow(Seams& seams) {
  const auto changed = watchedFlag(seams, "lse_overflow");
  seams.attention.merge = [changed](const SeamPlace&, RunningResult& running,
                                    const AttentionResult& block, std::int64_t q_begin) {
    if (mergeByPlainExponentials(running, block, q_begin)) *changed = true;
  };
}

/// The running out and lse are kept in bf16 from one block to the next.
void injectLseLowPrecision(Seams& seams) {
  extend(seams.attention.running, [](const SeamPlace&, RunningResult& running) {
    for (at::Tensor* kept : {&running.out, &running.lse})
      *kept = kept->to(at::kBFloat16).to(kept->scalar_type());
  });
}

/// A kernel gives its lse as a logarithm to base 2, and the merge takes it for a natural one.
void injectLseBase2(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace&, const Piece&, AttentionResult& block) {
    block.lse = block.lse / std::log(2.0);
  });
}

/// A rank's attention to its own block gives one NaN.
void injectNanFromOneRank(Seams& seams) {
  extend(seams.attention.block, [](const SeamPlace& at, const Piece&, AttentionResult& block) {
    if (at.source_rank == at.cpRank())
      block.out[0][0][0].fill_(std::numeric_limits<double>::quiet_NaN());
  });
}

}  // namespace ringscope::engine
