// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/block_sinks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/analysis/verify/recompute/selection.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// The division of a row's keys into blocks that are attended one after the other.
enum class BlocksOf { kRanks, kChunks, kAllRanks };

LayerTensors withoutSinks(LayerTensors layer) {
  layer.sinks = nullptr;
  layer.fitted_sinks.clear();
  return layer;
}

/// Attention with one more sink per block, computed from a layer's attention. A row has out and
/// Z = exp(lse). With n blocks the row is out · Z / (Z + n·exp(sink)).
class SinkPerBlock {
 public:
  /// `sinks` are those to add; null: they are inferred.
  SinkPerBlock(const Trace& trace, LayerTensors layer, const TensorRecord* sinks,
               const Selection& selection, const AttentionMask& mask)
      : trace_(trace),
        layer_(std::move(layer)),
        selection_(selection),
        mask_(mask),
        plain_(trace, layer_, selection, mask, false),
        recorded_(layer_.values(trace, TensorKind::kOut, selection).values) {
    if (sinks) sinks_ = trace.values(*sinks);
  }

  bool knowsSinks() const { return sinks_.has_value(); }

  bool agrees(BlocksOf of) const {
    const std::vector<double> blocks = countBlocks(of);
    if (std::ranges::all_of(blocks, [](double count) { return count <= 1; })) return false;
    return agrees(blocks, sinks_ ? *sinks_ : inferredSinks(blocks));
  }
  /// The same of one sink of 0 for each rank without a key.
  bool agreesWithEmptyBlocks() const {
    std::vector<double> blocks = countBlocks(BlocksOf::kRanks);
    for (double& count : blocks) count = static_cast<double>(layer_.ranks) - count;
    if (std::ranges::all_of(blocks, [](double count) { return count <= 0; })) return false;
    return agrees(blocks, std::vector<double>(static_cast<std::size_t>(layer_.heads), 0));
  }

 private:
  bool agrees(const std::vector<double>& blocks, const std::vector<double>& sinks) const {
    AttentionValues values = plain_.values();
    const auto width = static_cast<std::size_t>(layer_.head_dim);
    for (std::size_t row = 0; row < values.lse.size(); ++row) {
      const double sink =
          sinks[headIndex(layer_, selection_, row)] + std::log(blocks[row % blocks.size()]);
      const double share = 1 / (1 + std::exp(sink - values.lse[row]));
      for (std::size_t d = 0; d < width; ++d) values.out[row * width + d] *= share;
      values.lse[row] -= std::log(share);
    }
    const auto checks = compareAll(trace_, layer_, selection_, values, plain_.limits());
    return checks.front().worst.ratio() <= 1;
  }

  /// Returns the number of blocks that each selected row attends.
  std::vector<double> countBlocks(BlocksOf of) const {
    std::vector<double> counts;
    counts.reserve(selection_.rows.size());
    for (const std::size_t row : selection_.rows) {
      const TokenRun keys = mask_.keysFor(layer_.tokens[row]);
      std::set<WorldRank> ranks;
      double chunks = 0;
      WorldRank last;
      for (std::size_t j = 0; j < layer_.tokens.size(); ++j) {
        const std::int64_t token = layer_.tokens[j].value();
        if (token < keys.begin || token >= keys.end) continue;
        ranks.insert(layer_.owners[j]);
        chunks += layer_.owners[j] == last ? 0 : 1;
        last = layer_.owners[j];
      }
      counts.push_back(of == BlocksOf::kChunks  ? chunks
                       : of == BlocksOf::kRanks ? static_cast<double>(ranks.size())
                                                : static_cast<double>(layer_.ranks));
    }
    return counts;
  }

  /// Returns the sink of each head with which its middle row agrees.
  std::vector<double> inferredSinks(const std::vector<double>& blocks) const {
    const auto width = static_cast<std::size_t>(layer_.head_dim);
    std::vector<std::vector<double>> of_heads(static_cast<std::size_t>(layer_.heads));
    for (std::size_t row = 0; row < plain_.values().lse.size(); ++row) {
      double product = 0, square = 0;
      for (std::size_t d = row * width; d < (row + 1) * width; ++d) {
        product += recorded_[d] * plain_.values().out[d];
        square += plain_.values().out[d] * plain_.values().out[d];
      }
      if (product <= 0 || product >= square) continue;
      of_heads[headIndex(layer_, selection_, row)].push_back(std::log(square / product - 1) +
                                                             plain_.values().lse[row] -
                                                             std::log(blocks[row % blocks.size()]));
    }
    std::vector<double> sinks;
    sinks.reserve(of_heads.size());
    for (std::vector<double>& values : of_heads) {
      std::ranges::sort(values);
      sinks.push_back(values.empty() ? -INFINITY : values[values.size() / 2]);
    }
    return sinks;
  }

  const Trace& trace_;
  LayerTensors layer_;
  const Selection& selection_;
  const AttentionMask& mask_;
  MeantAttention plain_;
  std::vector<double> recorded_;
  std::optional<std::vector<double>> sinks_;
};

}  // namespace

bool countsEmptyBlocks(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                       const AttentionMask& mask) {
  if (!layer.complete(TensorKind::kOut)) return false;
  return SinkPerBlock(trace, layer, nullptr, selection, mask).agreesWithEmptyBlocks();
}

std::optional<std::string> findBlockSinks(const Trace& trace, const LayerTensors& layer,
                                          const Selection& selection, const AttentionMask& mask) {
  if (!layer.complete(TensorKind::kOut)) return std::nullopt;
  const SinkPerBlock attention(trace, withoutSinks(layer), layer.sinks, selection, mask);
  const std::string sinks =
      attention.knowsSinks() ? "the layer's sinks" : "sinks, which are inferred from the rows,";
  if (attention.agrees(BlocksOf::kRanks))
    return sinks + " added once for each rank whose keys a row attends";
  if (attention.agrees(BlocksOf::kChunks))
    return sinks + " added once for each chunk of keys that a row attends";
  // Without recorded sinks, as many blocks in each row cannot be told from larger sinks.
  if (attention.knowsSinks() && attention.agrees(BlocksOf::kAllRanks))
    return sinks + " added once for each of " +
           describeCount(static_cast<std::int64_t>(layer.ranks), "rank");
  return std::nullopt;
}

}  // namespace ringscope::traces
