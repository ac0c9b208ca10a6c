// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

/// Returns whether an exponential overflowed, or one of a block that has keys vanished.
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

/// lse' = log(exp(lse) + exp(block_lse)) without taking out the larger one first: exp overflows in
/// fp32 beyond 88, and gives 0 below −103.
void injectLseOverflow(Seams& seams) {
  const auto changed = watchedFlag(seams, "lse_overflow");
  seams.attention.merge = [changed](const SeamPlace&, RunningResult& running,
                                    const AttentionResult& block, std::int64_t q_begin) {
    if (mergeByPlainExponentials(running, block, q_begin)) *changed = true;
  };
}

}  // namespace ringscope::engine
