// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/meant_attention.h"

#include "traces/analysis/verify/recompute/precision.h"
#include "traces/format/core/error.h"

namespace ringscope::traces {

std::optional<std::vector<double>> sinkLogits(const Trace& trace, const LayerTensors& layer) {
  if (layer.fitted_sinks.empty() && layer.sinks) return trace.values(*layer.sinks);
  return layer.fitted_sinks;
}

MeantAttention::MeantAttention(const Trace& trace, const LayerTensors& layer,
                               const Selection& selection, AttentionMask mask, bool backward,
                               Delta delta)
    : q_(layer.values(trace, TensorKind::kQ, selection).values),
      k_(layer.values(trace, TensorKind::kK, selection).values),
      v_(layer.values(trace, TensorKind::kV, selection).values) {
  if (backward) dout_ = layer.values(trace, TensorKind::kDout, selection).values;
  if (layer.sinks || !layer.fitted_sinks.empty()) selectSinks(trace, layer, selection);
  in_.batch = static_cast<std::int64_t>(selection.groups.size());
  in_.heads = layer.groupSize();
  in_.kv_heads = 1;
  in_.head_dim = layer.head_dim;
  for (const std::size_t row : selection.rows) in_.q_tokens.push_back(layer.tokens[row]);
  in_.k_tokens = layer.tokens;
  in_.q = q_;
  in_.k = k_;
  in_.v = v_;
  in_.dout = dout_;
  in_.sinks = sinks_;
  static_cast<ScoreRule&>(in_) = layer.scores;
  in_.mask = std::move(mask);
  std::vector<double> stored_out;
  if (delta == Delta::kStored && backward && layer.complete(TensorKind::kOut))
    stored_out = layer.values(trace, TensorKind::kOut, selection).values;
  attention_ = attendWithLimits(in_, findPrecision(trace, layer, selection), stored_out);
}

double MeantAttention::work() const {
  return static_cast<double>(in_.batch * in_.heads) *
         attentionWork(in_.q_tokens, in_.k_tokens, in_.mask, in_.head_dim, !dout_.empty());
}

void MeantAttention::selectSinks(const Trace& trace, const LayerTensors& layer,
                                 const Selection& selection) {
  const auto all = sinkLogits(trace, layer);
  if (!all) throw inputError("the values of the attention sinks are missing");
  sinks_.reserve(selection.groups.size() * static_cast<std::size_t>(layer.groupSize()));
  for (const HeadGroup& group : selection.groups)
    for (std::int64_t h = 0; h < layer.groupSize(); ++h)
      sinks_.push_back((*all)[static_cast<std::size_t>(group.kv_head * layer.groupSize() + h)]);
}

}  // namespace ringscope::traces
