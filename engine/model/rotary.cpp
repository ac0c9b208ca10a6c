// SPDX-License-Identifier: Apache-2.0
#include "engine/model/rotary.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

namespace {

at::Tensor scaled(const at::Tensor& inverse, const RopeScaling& s) {
  constexpr double kTurn = 6.283185307179586;
  const double longest = s.original_max_position_embeddings / s.low_freq_factor,
               shortest = s.original_max_position_embeddings / s.high_freq_factor;
  const at::Tensor wavelength = kTurn / inverse, stretched = inverse / s.factor;
  const at::Tensor smooth = (s.original_max_position_embeddings / wavelength - s.low_freq_factor) /
                            (s.high_freq_factor - s.low_freq_factor);
  const at::Tensor blended = (1 - smooth) * stretched + smooth * inverse;
  return at::where(wavelength > longest, stretched,
                   at::where(wavelength < shortest, inverse, blended));
}

}  // namespace

at::Tensor Rotary::angles(const at::Tensor& position_ids, const LlamaConfig& config,
                          at::ScalarType type) {
  const auto angle_type = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor exponent =
      at::arange(0, config.head_dim, 2, angle_type) / static_cast<double>(config.head_dim);
  at::Tensor inverse = 1.0 / at::pow(config.rope_theta, exponent);  // [head_dim / 2]
  if (config.rope_scaling) inverse = scaled(inverse, *config.rope_scaling);
  inverse = inverse.to(position_ids.device());
  const at::Tensor half =
      position_ids.to(angle_type).unsqueeze(-1) * inverse;  // [B, S, head_dim / 2]
  return at::cat({half, half}, -1).unsqueeze(1);
}

Rotary Rotary::of(const at::Tensor& position_ids, const LlamaConfig& config, at::ScalarType type) {
  const at::Tensor angles = Rotary::angles(position_ids, config, type);
  return {at::cos(angles).to(type), at::sin(angles).to(type)};
}

at::Tensor Rotary::apply(const at::Tensor& x) const {
  const auto halves = x.chunk(2, -1);
  return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

}  // namespace ringscope::engine
