// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/shared_positions.h"

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/recompute/label_counts.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kDimensions = 3;  // of a shape [axes, batch, tokens]
constexpr std::int64_t kFewAxes = 3, kFewTextTokens = 4;

/// Reports whether a layer was computed again as causal attention of the whole sequence.
bool isCausalAcrossRanks(const Trace& trace, const LayerCheck& layer) {
  const IntentRecord* intent = layer.members.empty()
                                   ? nullptr
                                   : trace.intent(layer.pass.train_step, layer.members.front(),
                                                  layer.pass.layer, layer.pass.microbatch);
  const bool fits = layer.fits == AttentionFits::kStated || layer.fits == AttentionFits::kOther;
  return intent && intent->mask == MaskKind::kCausal && layer.members.size() > 1 && fits &&
         !layer.within_documents && !layer.tensors.empty() &&
         layer.tensors.front().kind == TensorKind::kOut && layer.tensors.front().worst.ratio() <= 1;
}

/// Reports whether some tokens count on in all axes at once, as those of text do. Positions of
/// images and frames alone may be the same on several ranks.
bool haveText(const Trace& trace, const TensorRecord& ids) {
  const auto values = trace.values(ids);
  if (!values) return false;
  const auto axes = static_cast<std::size_t>(ids.shape.front()),
             rows = static_cast<std::size_t>(ids.shape.back()), size = values->size() / axes;
  std::int64_t text = 0;
  for (std::size_t i = 1; i < rows; ++i) {
    const double at = (*values)[i];
    bool is_text = at == (*values)[i - 1] + 1;
    for (std::size_t axis = 1; axis < axes; ++axis)
      is_text =
          is_text && (*values)[axis * size + i] == at && (*values)[axis * size + i - 1] == at - 1;
    text += is_text ? 1 : 0;
  }
  return text >= kFewTextTokens;
}

/// Returns a rank's position ids of several axes, one per token of its own; null when it has none.
const TensorRecord* positionsOfAxes(const Trace& trace, std::int32_t train_step, WorldRank rank) {
  const TensorRecord* ids = trace.findTensor({TensorKind::kPositionIds}, {train_step}, rank);
  if (!ids || ids->shape.size() != kDimensions || ids->shape.front() < kFewAxes ||
      ids->stats.min == ids->stats.max)
    return nullptr;
  const std::int64_t rows = ids->shape.back();
  const bool is_own = std::ssize(ownTokens(trace, train_step, rank, rows)) == rows;
  return is_own && haveText(trace, *ids) ? ids : nullptr;
}

/// Reports whether labels show that documents are as long as shards: positions begin again on every
/// rank, and the last token of each shard has no target.
bool haveOwnDocuments(const Trace& trace, std::int32_t train_step,
                      const std::vector<WorldRank>& members) {
  const RestartedPositions restarted(trace, train_step, members);
  const auto tokens = SequenceTokens::of(trace, train_step, members);
  if (!tokens || !restarted.onEveryRank()) return false;
  const LabelCounts counts =
      countLabels(*tokens, trace.intent(train_step, members.front()), restarted);
  return counts.undeclared > 0 && counts.wrong + counts.lost == 0 && counts.unlike_local == 0;
}

}  // namespace

std::optional<Finding> equalPositionsOfAxes(const Readings& readings) {
  const Trace& trace = readings.trace();
  const TensorRecord* any = nullptr;
  for (const TensorRecord& tensor : trace.tensors())
    if (tensor.tensor.kind == TensorKind::kPositionIds && tensor.shape.size() == kDimensions)
      any = &tensor;
  if (!any) return std::nullopt;
  for (const LayerCheck& layer : readings.layers()) {
    if (!isCausalAcrossRanks(trace, layer)) continue;
    const std::int32_t train_step = layer.pass.train_step;
    if (haveOwnDocuments(trace, train_step, layer.members)) continue;
    const TensorRecord* first = positionsOfAxes(trace, train_step, layer.members.front());
    for (const WorldRank rank : layer.members) {
      const TensorRecord* ids = positionsOfAxes(trace, train_step, rank);
      if (!first || !ids || rank == layer.members.front() || ids->shape != first->shape ||
          ids->hash_algorithm != first->hash_algorithm || ids->hash != first->hash)
        continue;
      return Finding{
          .confidence = Confidence::kLikely,
          .title = "Position ids restart on every rank",
          .place = {train_step},
          .rank = rank,
          .buffer = "position_ids",
          .evidence = "Ranks " + toString(first->rank) + " and " + toString(rank) +
                      " have the same position ids of " + std::to_string(ids->shape.front()) +
                      " axes for " + describeCount(ids->shape.back()) +
                      " different tokens each. Attention is causal and goes on from rank to rank, "
                      "so later tokens have later positions.",
          .remedy =
              "Compute the position ids of all axes from the whole sequence, and cut them along "
              "the tokens (the last dimension) as the tokens are cut."};
    }
  }
  return std::nullopt;
}

}  // namespace ringscope::traces
