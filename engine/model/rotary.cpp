// SPDX-License-Identifier: Apache-2.0
#include "engine/model/rotary.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace ringscope::engine {

namespace {

constexpr double kTurn = 6.283185307179586;

at::Tensor blendedByLlama3(const at::Tensor& inverse, const RopeScaling& s) {
  const double longest = s.original_max_position_embeddings / s.low_freq_factor,
               shortest = s.original_max_position_embeddings / s.high_freq_factor;
  const at::Tensor wavelength = kTurn / inverse, stretched = inverse / s.factor;
  const at::Tensor smooth = (s.original_max_position_embeddings / wavelength - s.low_freq_factor) /
                            (s.high_freq_factor - s.low_freq_factor);
  const at::Tensor blended = (1 - smooth) * stretched + smooth * inverse;
  return at::where(wavelength > longest, stretched,
                   at::where(wavelength < shortest, inverse, blended));
}

/// Peng et al., "YaRN: Efficient Context Window Extension of Large Language Models", section 3.2,
/// as transformers computes it: a ramp between the dimensions that turn beta_fast and beta_slow
/// times within the original length.
at::Tensor blendedByYarn(const at::Tensor& inverse, const RopeScaling& s, double theta) {
  const double dims = 2.0 * static_cast<double>(inverse.numel());
  const auto dimension = [&](double turns) {
    return dims * std::log(s.original_max_position_embeddings / (turns * kTurn)) /
           (2 * std::log(theta));
  };
  double low = dimension(s.beta_fast), high = dimension(s.beta_slow);
  if (s.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dims - 1);
  if (low == high) high += 0.001;
  const at::Tensor ramp =
      ((at::arange(0, inverse.numel(), inverse.options()) - low) / (high - low)).clamp(0, 1);
  return inverse / s.factor * ramp + inverse * (1 - ramp);
}

at::Tensor scaled(const at::Tensor& inverse, const LlamaConfig& config) {
  const RopeScaling& s = *config.rope_scaling;
  switch (s.kind) {
    case RopeKind::kLinear:
      return inverse / s.factor;
    case RopeKind::kDynamic:
      return inverse;
    case RopeKind::kLlama3:
      return blendedByLlama3(inverse, s);
    case RopeKind::kYarn:
      break;
  }
  return blendedByYarn(inverse, s, config.rope_theta);
}

}  // namespace

/// Computes the base of dynamic NTK scaling like transformers, from the length of the whole
/// sequence. The position ids of a rank do not show that length.
double Rotary::base(const LlamaConfig& config) {
  if (!config.rope_scaling || config.rope_scaling->kind != RopeKind::kDynamic)
    return config.rope_theta;
  const RopeScaling& s = *config.rope_scaling;
  const auto dims = static_cast<double>(config.head_dim);
  const double stretched =
      std::max(1.0, static_cast<double>(s.sequence_length) / s.max_position_embeddings);
  return config.rope_theta * std::pow(s.factor * stretched - (s.factor - 1), dims / (dims - 2));
}

at::Tensor Rotary::angles(const at::Tensor& position_ids, const LlamaConfig& config,
                          at::ScalarType type) {
  const auto angle_type = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor exponent =
      at::arange(0, config.head_dim, 2, angle_type) / static_cast<double>(config.head_dim);
  at::Tensor inverse = 1.0 / at::pow(base(config), exponent);  // [head_dim / 2]
  if (config.rope_scaling) inverse = scaled(inverse, config);
  inverse = inverse.to(position_ids.device());
  const at::Tensor half =
      position_ids.to(angle_type).unsqueeze(-1) * inverse;  // [B, S, head_dim / 2]
  return at::cat({half, half}, -1).unsqueeze(1);
}

Rotary Rotary::of(const at::Tensor& position_ids, const LlamaConfig& config, at::ScalarType type) {
  const at::Tensor angles = Rotary::angles(position_ids, config, type);
  const double factor = config.rope_scaling ? config.rope_scaling->attention_factor : 1;
  return {(at::cos(angles) * factor).to(type), (at::sin(angles) * factor).to(type)};
}

at::Tensor Rotary::apply(const at::Tensor& x) const {
  const auto halves = x.chunk(2, -1);
  return x * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

}  // namespace ringscope::engine
