// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/verify/recompute/own_keys.h"

#include <algorithm>

#include "traces/analysis/verify/recompute/dropped_part.h"
#include "traces/analysis/verify/recompute/row_keys.h"
#include "traces/format/core/prose.h"

namespace ringscope::traces {
namespace {

/// Returns the rows before the first token of another rank.
Selection rowsOfOwnKeys(const LayerTensors& layer, const Selection& selection) {
  const auto other = std::ranges::find_if(
      layer.owners, [&](WorldRank owner) { return owner != layer.owners.front(); });
  const auto end = static_cast<std::size_t>(other - layer.owners.begin());
  Selection own{selection.groups, {}};
  std::ranges::copy_if(selection.rows, std::back_inserter(own.rows),
                       [&](std::size_t row) { return row < end; });
  return own;
}

}  // namespace

std::string describeScores(const ScoreRule& scores, const FittedParts& parts) {
  std::string words;
  if (parts.scale) words = "the scale " + describeSignificant(scores.scale, 4);
  if (parts.softcap)
    words +=
        (parts.scale ? " and " : "") + ("the softcap " + describeSignificant(scores.softcap, 4));
  return words;
}

std::optional<OwnKeysFit> fitOwnKeys(const Trace& trace, const LayerTensors& layer,
                                     const Selection& selection, const AttentionMask& mask) {
  constexpr std::size_t kFewestRows = 6;
  const Selection own = rowsOfOwnKeys(layer, selection);
  if (!mask.causal || own.rows.size() < kFewestRows || own.rows.size() == selection.rows.size())
    return std::nullopt;
  for (const FittedParts& parts : {FittedParts{true, false, false}, FittedParts{false, true, false},
                                   FittedParts{true, true, false}}) {
    const auto fit = fitScores(trace, layer, own, mask, parts);
    if (!fit) continue;
    LayerTensors other = layer;
    other.scores = fit->scores;
    if (comparedOut(trace, other, own, mask).worst.ratio() > 1) continue;
    if (findOtherKeys(trace, other, selection, comparedOut(trace, other, selection, mask)))
      return std::nullopt;
    return OwnKeysFit{std::move(other), "rows of the recorded output that attend keys of rank " +
                                            toString(layer.owners.front()) + " alone agree with " +
                                            describeScores(fit->scores, parts) +
                                            ", which nothing recorded states"};
  }
  return std::nullopt;
}

}  // namespace ringscope::traces
