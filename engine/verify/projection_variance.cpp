// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/projection_variance.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

struct Projection {
  const char* name;
  at::Tensor LayerAttention::*gradient;
  RowVariance AttentionVariance::*variance;
  const char* norm;  ///< its own, in models that have one
};

constexpr Projection kProjections[] = {
    {"q_proj", &LayerAttention::dq, &AttentionVariance::dq, "q_norm"},
    {"k_proj", &LayerAttention::dk, &AttentionVariance::dk, "k_norm"},
    {"v_proj", &LayerAttention::dv, &AttentionVariance::dv, nullptr},
};

/// [B, H, S] of each token to [H · D] of each row, `scale` times.
at::Tensor ofRows(const at::Tensor& of_tokens, std::int64_t width, double scale) {
  return of_tokens.to(at::kDouble).sum(at::IntArrayRef{0, 2}).repeat_interleave(width) *
         (scale / static_cast<double>(width));
}

}  // namespace

std::optional<RowVariance> projectionVariance(const std::string& parameter,
                                              const UnshardedStep& exact,
                                              const std::vector<AttentionVariance>& variances) {
  for (Layer layer = Layer::of(0); layer.index() < variances.size(); layer = layer.next())
    for (const Projection& projection : kProjections) {
      const std::string attention = LlamaWeights::nameFor(layer, "self_attn."),
                        own = attention + projection.name;
      const bool weight = parameter == own + ".weight";
      if (!weight && parameter != own + ".bias") continue;
      if (projection.norm && exact.gradients.contains(attention + projection.norm + ".weight"))
        return std::nullopt;
      const RowVariance& v = variances[layer.index()].*projection.variance;
      const std::int64_t width = (exact.layers[layer.index()].*projection.gradient).size(3);
      const double scale = weight ? exact.input_squares[layer.index()] : 1;
      RowVariance rows{ofRows(v.spread, width, scale), ofRows(v.terms, width, scale),
                       ofRows(v.single, width, scale), ofRows(v.merging, width, scale)};
      if (v.adding.defined()) rows.adding = ofRows(v.adding, width, scale);
      return rows;
    }
  return std::nullopt;
}

}  // namespace ringscope::engine
