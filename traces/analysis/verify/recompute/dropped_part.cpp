// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/dropped_part.h"

#include <cmath>

#include "traces/analysis/verify/recompute/block_sinks.h"
#include "traces/analysis/verify/recompute/meant_attention.h"
#include "traces/analysis/verify/recompute/stated_scores.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// An attention without a part that is meant.
struct Candidate {
  DroppedPart part;
  LayerTensors layer;
  std::string words;
};

std::string number(double value) {
  return describeSignificant(value, 4);
}

void addScale(const Trace& trace, const LayerTensors& layer, std::vector<Candidate>& all) {
  const double usual = 1 / std::sqrt(static_cast<double>(layer.head_dim));
  if (std::abs(layer.scores.scale - usual) <= 1e-6 * usual) return;
  LayerTensors other = layer;
  other.scores.scale = usual;
  const StatedBy by = statedScores(trace, layer.pass.layer, layer.head_dim).by;
  all.push_back({DroppedPart::kScale, std::move(other),
                 "the scale 1 / √d, which is " + number(usual) + "; " + describe(by) +
                     " states the scale " + number(layer.scores.scale)});
}

void addSoftcap(const LayerTensors& layer, std::vector<Candidate>& all) {
  if (layer.scores.softcap <= 0) return;
  LayerTensors other = layer;
  other.scores.softcap = 0;
  all.push_back({DroppedPart::kSoftcap, std::move(other),
                 "attention without a softcap; the model states the softcap " +
                     number(layer.scores.softcap)});
}

void addSinks(const LayerTensors& layer, std::vector<Candidate>& all) {
  if (!layer.sinks) return;
  LayerTensors other = layer;
  other.sinks = nullptr;
  all.push_back(
      {DroppedPart::kSinks, std::move(other),
       "attention without sinks; the layer has " + describeCount(layer.heads, "recorded sink")});
}

/// Adds attention in which each of several ranks gives its share of the heads the first sinks.
void addSinksOfHeads(const Trace& trace, const LayerTensors& layer, std::vector<Candidate>& all) {
  const auto sinks = layer.sinks ? trace.values(*layer.sinks) : std::nullopt;
  if (!sinks) return;
  for (std::size_t ranks = 2; ranks <= layer.ranks; ++ranks) {
    if (sinks->size() % ranks != 0) continue;
    const std::size_t share = sinks->size() / ranks;
    LayerTensors other = layer;
    other.sinks = nullptr;
    for (std::size_t head = 0; head < sinks->size(); ++head)
      other.fitted_sinks.push_back((*sinks)[head % share]);
    if (other.fitted_sinks == *sinks) continue;
    all.push_back({DroppedPart::kHeads, std::move(other),
                   "the first " + describeCount(static_cast<std::int64_t>(share), "sink") +
                       " of the layer on each of " +
                       describeCount(static_cast<std::int64_t>(ranks), "rank") +
                       " that share the heads, whichever heads the rank has"});
  }
}

}  // namespace

TensorCheck comparedOut(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                        const AttentionMask& mask) {
  const MeantAttention meant(trace, layer, selection, mask, false);
  return compareAll(trace, layer, selection, meant.values(), meant.limits()).front();
}

std::optional<DroppedAttention> findDropped(const Trace& trace, const LayerTensors& layer,
                                            const Selection& selection, const AttentionMask& mask) {
  std::vector<Candidate> candidates;
  addScale(trace, layer, candidates);
  addSoftcap(layer, candidates);
  addSinks(layer, candidates);
  addSinksOfHeads(trace, layer, candidates);
  for (Candidate& candidate : candidates)
    if (comparedOut(trace, candidate.layer, selection, mask).worst.ratio() <= 1)
      return DroppedAttention{candidate.part, std::move(candidate.words)};
  if (countsEmptyBlocks(trace, layer, selection, mask))
    return DroppedAttention{DroppedPart::kEmpty,
                            "attention in which each rank without a key for a row counts as a "
                            "block whose log-sum-exp is 0"};
  if (!layer.sinks) return std::nullopt;
  if (auto words = findBlockSinks(trace, layer, selection, mask))
    return DroppedAttention{DroppedPart::kOneSink, *std::move(words)};
  return std::nullopt;
}

}  // namespace ringscope::traces
