// SPDX-License-Identifier: Apache-2.0
#include "engine/model/rotary.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

Rotary Rotary::of(const at::Tensor& position_ids, const LlamaConfig& config, at::ScalarType type) {
  const auto angle_type = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor exponent =
      at::arange(0, config.head_dim, 2, angle_type) / static_cast<double>(config.head_dim);
  const at::Tensor inverse = 1.0 / at::pow(config.rope_theta, exponent);  // [head_dim / 2]
  const at::Tensor half =
      position_ids.to(angle_type).unsqueeze(-1) * inverse;  // [B, S, head_dim / 2]
  const at::Tensor angles = at::cat({half, half}, -1).unsqueeze(1);
  return {at::cos(angles).to(type), at::sin(angles).to(type)};
}

at::Tensor Rotary::apply(const at::Tensor& x) const {
  const auto halves = x.chunk(2, -1);
  return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

}  // namespace ringscope::engine
