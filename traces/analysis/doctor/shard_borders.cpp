// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/doctor/shard_borders.h"

#include <algorithm>
#include <set>
#include <vector>

#include "traces/analysis/doctor/readings.h"
#include "traces/analysis/doctor/unknown_mistake.h"
#include "traces/analysis/verify/layer_check.h"
#include "traces/analysis/verify/recompute/attended_rows.h"
#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/own_tokens.h"

namespace ringscope::traces {
namespace {

constexpr std::int64_t kMostReadEntries = 4;
constexpr std::size_t kMostBorders = 64, kRowsBehind = 4, kFewRows = 3;
constexpr std::size_t kMostLayerTokens = 1U << 14;

/// Whether the rows behind a token attend keys before it.
enum class Crossing { kUnknown, kCrossed, kEnds };

/// A token whose position begins again, or whose shard begins.
struct Border {
  std::size_t token = 0;  ///< index into the layer's tokens
  std::int64_t batch = 0;
  bool between_ranks = false, restarts = false;
  Crossing crossing = Crossing::kUnknown;
};

/// Returns the positions of a batch entry's tokens; empty when some are not recorded, or have
/// several axes.
std::vector<double> positionsIn(const Trace& trace, const LayerTensors& layer, std::int64_t batch) {
  std::vector<double> position(layer.tokens.size(), -1);
  for (const RankTensor& part : layer.tensors.at(TensorKind::kQ)) {
    const auto* record =
        trace.findTensor({TensorKind::kPositionIds}, {layer.pass.train_step}, part.rank);
    const auto values = record ? trace.values(*record) : std::nullopt;
    if (!values || record->shape.empty() || record->shape.size() > 2) return {};
    const std::int64_t rows = record->shape.back(),
                       entries = record->shape.size() == 2 ? record->shape.front() : 1;
    const auto tokens =
        ownTokens(trace, layer.pass.train_step, part.rank, rows, layer.pass.microbatch);
    if ((entries != 1 && entries != layer.batch) || std::ssize(tokens) != rows ||
        std::ssize(*values) != rows * entries)
      return {};
    const std::int64_t first = entries == 1 ? 0 : batch * rows;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto at = std::ranges::lower_bound(layer.tokens, tokens[static_cast<std::size_t>(i)]);
      if (at == layer.tokens.end() || *at != tokens[static_cast<std::size_t>(i)]) return {};
      position[static_cast<std::size_t>(at - layer.tokens.begin())] =
          (*values)[static_cast<std::size_t>(first + i)];
    }
  }
  return position;
}

/// Reads the borders of one batch entry of a layer.
class BorderReader {
 public:
  BorderReader(const Trace& trace, const LayerTensors& layer, std::int64_t batch,
               std::vector<double> sinks)
      : trace_(trace),
        layer_(layer),
        batch_(batch),
        sinks_(std::move(sinks)),
        position_(positionsIn(trace, layer, batch)) {}

  /// Returns the borders in the order of tokens; none when positions are unknown.
  std::vector<Border> read() {
    std::vector<Border> borders;
    start_.assign(position_.size(), 0);
    for (std::size_t t = 1; t < position_.size() && borders.size() < kMostBorders; ++t) {
      const bool follows = layer_.tokens[t].value() == layer_.tokens[t - 1].value() + 1,
                 goes_on = position_[t] == position_[t - 1] + 1,
                 between = layer_.owners[t] != layer_.owners[t - 1],
                 restarts = position_[t] == 0 && position_[t - 1] > 0;
      start_[t] = follows && goes_on ? start_[t - 1] : t;
      if (!follows || !(restarts || (between && goes_on))) continue;
      Border border{t, batch_, between, restarts, crossingAt(t)};
      if (restarts && border.crossing == Crossing::kCrossed) start_[t] = start_[t - 1];
      if (!restarts && border.crossing == Crossing::kEnds) start_[t] = t;
      borders.push_back(border);
    }
    return borders;
  }

 private:
  /// Compares rows behind a token with attention from this token on, and from the beginning of the
  /// tokens before it on.
  Crossing crossingAt(std::size_t token) const {
    Selection selection{{{batch_, 0}}, {}};
    if (layer_.kv_heads > 1) selection.groups.push_back({batch_, layer_.kv_heads - 1});
    for (std::size_t row = token; row < token + kRowsBehind && row < position_.size(); ++row) {
      if (row > token &&
          (position_[row] != position_[row - 1] + 1 || layer_.owners[row] != layer_.owners[token]))
        break;
      selection.rows.push_back(row);
    }
    if (selection.rows.size() < kFewRows) return Crossing::kUnknown;
    const AttendedRows rows(trace_, layer_, selection, sinks_);
    std::size_t crossed = 0, ends = 0;
    for (std::size_t row = 0; row < rows.count(); ++row) {
      const auto own = static_cast<std::int64_t>(selection.rows[row % selection.rows.size()]);
      const bool on = rows.agrees(row, {static_cast<std::int64_t>(start_[token - 1]), own + 1}),
                 from = rows.agrees(row, {static_cast<std::int64_t>(token), own + 1});
      if (!on && !from) return Crossing::kUnknown;
      crossed += on && !from ? 1 : 0;
      ends += from && !on ? 1 : 0;
    }
    if (crossed >= kFewRows && ends == 0) return Crossing::kCrossed;
    return ends >= kFewRows && crossed == 0 ? Crossing::kEnds : Crossing::kUnknown;
  }

  const Trace& trace_;
  const LayerTensors& layer_;
  std::int64_t batch_;
  std::vector<double> sinks_, position_;
  std::vector<std::size_t> start_;  // of the run of positions that a token continues
};

/// The borders of all batch entries of a layer.
struct LayerBorders {
  LayerTensors layer;
  std::vector<Border> all;

  std::int64_t count(bool between, bool restarts, Crossing crossing) const {
    return std::ranges::count_if(all, [&](const Border& border) {
      return border.between_ranks == between && border.restarts == restarts &&
             border.crossing == crossing;
    });
  }
  const Border& first(bool restarts, Crossing crossing) const {
    return *std::ranges::find_if(all, [&](const Border& border) {
      return border.between_ranks && border.restarts == restarts && border.crossing == crossing;
    });
  }
};

/// Reads the first layer of each step and group.
std::vector<LayerBorders> readBorders(const Readings& readings) {
  const Trace& trace = readings.trace();
  std::vector<LayerBorders> found;
  std::set<std::pair<std::int32_t, std::vector<WorldRank>>> seen;
  for (const LayerCheck& check : readings.layers()) {
    if (check.members.size() < 2 || check.pass.microbatch != 0 ||
        !seen.emplace(check.pass.train_step, check.members).second)
      continue;
    LayerBorders borders{findLayer(trace, check.pass, check.members), {}};
    const LayerTensors& layer = borders.layer;
    if (!layer.blocking.empty() || !layer.complete(TensorKind::kOut) ||
        layer.tokens.size() > kMostLayerTokens)
      continue;
    const auto sinks = sinkLogits(trace, layer);
    for (std::int64_t batch = 0; sinks && batch < std::min(layer.batch, kMostReadEntries);
         ++batch) {
      const auto of_entry = BorderReader(trace, layer, batch, *sinks).read();
      borders.all.insert(borders.all.end(), of_entry.begin(), of_entry.end());
    }
    found.push_back(std::move(borders));
  }
  return found;
}

std::string borderWords(const LayerBorders& borders, const Border& border) {
  return "token " + toString(borders.layer.tokens[border.token]) + " of batch entry " +
         std::to_string(border.batch) + ", where a part of rank " +
         toString(borders.layer.owners[border.token]) + " begins";
}

}  // namespace

std::optional<Finding> positionsRestartAtShards(const Readings& readings) {
  for (const LayerBorders& borders : readBorders(readings)) {
    const std::int64_t wrong = borders.count(true, true, Crossing::kCrossed);
    const std::int64_t right = borders.count(false, true, Crossing::kEnds);
    if (wrong == 0 || right == 0 || borders.count(false, true, Crossing::kCrossed) > 0) continue;
    const Border& first = borders.first(true, Crossing::kCrossed);
    return Finding{
        .confidence = Confidence::kLikely,
        .title = "Positions begin again at the borders of shards",
        .place = {borders.layer.pass.train_step, borders.layer.pass.layer},
        .rank = borders.layer.owners[first.token],
        .buffer = "position_ids",
        .evidence =
            "Positions begin again at " + borderWords(borders, first) +
            ", but the rows behind it attend the keys before it. So it is at " +
            describeCount(wrong, "border") +
            " between ranks. Where positions begin again within a shard, attention ends too (" +
            describeCount(right, "place") + ").",
        .remedy =
            "Count positions in the whole sequence, or in its documents or attention mask, before "
            "the batch is cut, and cut them as the tokens are cut."};
  }
  return std::nullopt;
}

std::optional<Finding> attentionEndsAtShards(const Readings& readings) {
  for (const LayerBorders& borders : readBorders(readings)) {
    const LayerPass& pass = borders.layer.pass;
    const IntentRecord* meant = readings.trace().intent(
        pass.train_step, borders.layer.owners.front(), pass.layer, pass.microbatch);
    if (!meant || meant->mask != MaskKind::kDocuments) continue;
    const std::int64_t wrong = borders.count(true, false, Crossing::kEnds),
                       right = borders.count(false, true, Crossing::kEnds);
    if (wrong == 0 || right == 0 || borders.count(false, true, Crossing::kCrossed) > 0) continue;
    const Border& first = borders.first(false, Crossing::kEnds);
    Finding finding{
        .confidence = Confidence::kLikely,
        .title = "No rule names it: attention of documents ends at the borders of shards",
        .place = {borders.layer.pass.train_step, borders.layer.pass.layer, Direction::kForward, {}},
        .rank = borders.layer.owners[first.token],
        .buffer = "out",
        .evidence = "Attention begins again at " + borderWords(borders, first) +
                    ", but positions go on there. Positions begin again where attention ends at " +
                    describeCount(right, "place") +
                    " within shards, so they show the documents. So it is at " +
                    describeCount(wrong, "border") + " between ranks.",
        .remedy =
            "Give the first document of each shard the keys of its beginning on other ranks: "
            "cu_seqlens of keys begin where the document begins, and not where the shard does."};
    finding.rule = kUnknownMistake;
    return finding;
  }
  return std::nullopt;
}

}  // namespace ringscope::traces
