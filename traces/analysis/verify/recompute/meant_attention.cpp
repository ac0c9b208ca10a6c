// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/meant_attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "traces/format/core/error.h"

namespace ringscope::traces {
namespace {

/// The relative error of the exponential in fused kernels of 16-bit types (see row_limits.cpp).
constexpr double kShortExponential = 0x1p-12;

/// Returns the number of blocks that a rank merges into its rows: the pieces of its schedule, or
/// one block per rank.
int mergesOf(const Trace& trace, std::int32_t train_step, WorldRank rank, std::size_t ranks) {
  const auto* schedule = trace.schedule(train_step, rank, Direction::kForward);
  if (!schedule) return static_cast<int>(ranks);
  std::size_t pieces = 0;
  for (const StageRecord& stage : schedule->stages) pieces += stage.pieces.size();
  return static_cast<int>(pieces);
}

}  // namespace

Precision findPrecision(const Trace& trace, const LayerTensors& layer, const Selection& selection) {
  const auto out = layer.tensors.find(TensorKind::kOut);
  const auto& recorded = out == layer.tensors.end() || out->second.empty()
                             ? layer.tensors.at(TensorKind::kQ)
                             : out->second;
  const DType dtype = recorded.front().record->dtype;
  Precision precision;
  precision.stored = unitRoundoff(dtype);
  precision.sums =
      dtype == DType::kFloat64 ? 2 * unitRoundoff(dtype) : unitRoundoff(DType::kFloat32);
  const bool two_bytes = dtype == DType::kBFloat16 || dtype == DType::kFloat16;
  precision.exponential = two_bytes ? kShortExponential : 40 * precision.sums;
  precision.tiny = underflow(dtype);
  std::map<WorldRank, int> merges;
  int most = 0;
  for (const WorldRank owner : std::set<WorldRank>(layer.owners.begin(), layer.owners.end())) {
    merges[owner] = mergesOf(trace, layer.pass.train_step, owner, layer.ranks);
    most = std::max(most, merges[owner]);
  }
  const int sinks = layer.sinks ? 1 : 0;  // the sink is merged as a block is
  for (const std::size_t row : selection.rows)
    precision.merges.push_back(merges[layer.owners[row]] + sinks);
  precision.key_parts = most * static_cast<int>(layer.groupSize());
  return precision;
}

MeantAttention::MeantAttention(const Trace& trace, const LayerTensors& layer,
                               const Selection& selection, AttentionMask mask, bool backward)
    : q_(layer.values(trace, TensorKind::kQ, selection).values),
      k_(layer.values(trace, TensorKind::kK, selection).values),
      v_(layer.values(trace, TensorKind::kV, selection).values) {
  if (backward) dout_ = layer.values(trace, TensorKind::kDout, selection).values;
  if (layer.sinks) selectSinks(trace, layer, selection);
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
  in_.scale = 1 / std::sqrt(static_cast<double>(layer.head_dim));
  in_.mask = std::move(mask);
  const Precision precision = findPrecision(trace, layer, selection);
  RowLimits row_limits(in_, precision);
  values_ = attend(in_, [&](const AttentionRow& row) { row_limits.visit(row); });
  limits_ = row_limits.finish(values_);
}

double MeantAttention::work() const {
  return static_cast<double>(in_.batch * in_.heads) *
         attentionWork(in_.q_tokens, in_.k_tokens, in_.mask, in_.head_dim, !dout_.empty());
}

void MeantAttention::selectSinks(const Trace& trace, const LayerTensors& layer,
                                 const Selection& selection) {
  const auto all = trace.values(*layer.sinks);
  if (!all) throw inputError("the values of the attention sinks are missing");
  sinks_.reserve(selection.groups.size() * static_cast<std::size_t>(layer.groupSize()));
  for (const HeadGroup& group : selection.groups)
    for (std::int64_t h = 0; h < layer.groupSize(); ++h)
      sinks_.push_back((*all)[static_cast<std::size_t>(group.kv_head * layer.groupSize() + h)]);
}

}  // namespace ringscope::traces
