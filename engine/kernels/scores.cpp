// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/scores.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

at::Tensor scoresFrom(const at::Tensor& products, const traces::ScoreRule& rule) {
  const at::Tensor scaled = products * rule.scale;
  return rule.softcap > 0 ? at::tanh(scaled / rule.softcap) * rule.softcap : scaled;
}

at::Tensor beforeSoftcap(const at::Tensor& gradients, const at::Tensor& scores,
                         const traces::ScoreRule& rule) {
  if (rule.softcap == 0) return gradients;
  const at::Tensor slopes = 1 - at::square(scores / rule.softcap);
  return (gradients * slopes).masked_fill(at::isneginf(scores), 0);
}

}  // namespace ringscope::engine
