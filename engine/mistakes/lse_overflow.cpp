// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "engine/mistakes/seams.h"

namespace ringscope::engine {
namespace {

void mergeByPlainExponentials(const SeamPlace&, RunningResult& running,
                              const AttentionResult& block, std::int64_t q_begin) {
  const std::int64_t q_end = q_begin + block.lse.size(2);
  const at::Tensor out = running.out.slice(2, q_begin, q_end),
                   lse = running.lse.slice(2, q_begin, q_end);
  const at::Tensor kept = lse.exp(), added = block.lse.exp(), sum = kept + added;
  out.mul_((kept / sum).unsqueeze(-1)).add_((added / sum).unsqueeze(-1) * block.out);
  lse.copy_(sum.log());
}

}  // namespace

/// lse' = log(exp(lse) + exp(block_lse)) without taking out the larger one first: exp overflows in
/// fp32 beyond 88, and gives 0 below −103.
void injectLseOverflow(Seams& seams) {
  seams.attention.merge = mergeByPlainExponentials;
}

}  // namespace ringscope::engine
