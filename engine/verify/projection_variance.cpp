// SPDX-License-Identifier: Apache-2.0
#include "engine/verify/projection_variance.h"

#include <ATen/ATen.h>

namespace ringscope::engine {
namespace {

struct Projection {
  const char* name;
  at::Tensor LayerAttention::*gradient;
  TensorVariance AttentionVariance::*variance;
  const char* norm;  ///< its own, in models that have one
};

constexpr Projection kProjections[] = {
    {"q_proj", &LayerAttention::dq, &AttentionVariance::dq, "q_norm"},
    {"k_proj", &LayerAttention::dk, &AttentionVariance::dk, "k_norm"},
    {"v_proj", &LayerAttention::dv, &AttentionVariance::dv, nullptr},
};

/// Rows [B, H, S] of a gradient [B, H, S, D] to the [H · D] rows of the projection, `scale` times.
TensorVariance ofProjection(const TensorVariance& of_tokens, at::IntArrayRef gradient,
                            double scale) {
  const auto heads = static_cast<std::size_t>(gradient[1]),
             tokens = static_cast<std::size_t>(gradient[2]),
             width = static_cast<std::size_t>(gradient[3]);
  const double share = scale / static_cast<double>(width);
  TensorVariance all;
  all.rows.resize(heads * width);
  for (std::size_t i = 0; i < of_tokens.rows.size(); ++i)
    for (std::size_t d = 0; d < width; ++d) {
      const RowVariance& token = of_tokens.rows[i];
      RowVariance& row = all.rows[i / tokens % heads * width + d];
      row.spread += share * token.spread;
      row.terms += share * token.terms;
      row.single += share * token.single;
      row.merging += share * token.merging;
      row.adding += share * token.adding;
    }
  return all;
}

}  // namespace

std::optional<TensorVariance> projectionVariance(const std::string& parameter,
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
      return ofProjection(variances[layer.index()].*projection.variance,
                          (exact.layers[layer.index()].*projection.gradient).sizes(),
                          weight ? exact.input_squares[layer.index()] : 1);
    }
  return std::nullopt;
}

}  // namespace ringscope::engine
