// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/hypotheses/hypothesis_check.h"
#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/analysis/verify/recompute/fitted_attention.h"

namespace ringscope::traces {

/// Compares one layer of one group of ranks with unsharded attention. The unsharded attention is
/// computed in fp64 from the recorded q, k, v, dout and attention sinks, under the declared mask.
/// Its scale and softcap are those that the recording states or the recorded output shows.
struct LayerCheck {
  LayerPass pass;
  std::vector<WorldRank> members;
  Selection selection;               ///< what was computed
  AttentionMask mask;                ///< that was meant, or that the recorded output shows
  std::vector<TensorCheck> tensors;  ///< in the order out, lse, dq, dk, dv; those that could be
  std::vector<std::string> skipped;  ///< sentences: what was not computed or compared, and why
  /// Whether recorded out agrees with another attention than is stated; `tensors` are compared with
  /// the attention that was inferred for kOther, and empty for kNothing.
  AttentionFits fits = AttentionFits::kStated;
  std::string fits_words;  ///< a sentence without its full stop; empty for kStated
  DroppedPart dropped = DroppedPart::kNone;  ///< part of the meant attention that is missing
  StatedBy stated_by = StatedBy::kNobody;    ///< source of the meant scale
  ScoreRule scores;                          ///< with which `tensors` were computed
  bool fitted_sinks = false;
  /// It is wrong only if the mask is the inferred one, since other keys alone explain it.
  bool keys_may_be_meant = false;
  bool within_documents = false;  ///< for kOther: documents that positions show
  bool vague_scores = false;      ///< 16-bit out agrees with the default scale, and with others
  /// Its attention is inferred, and is not that of other layers.
  bool unlike_other_layers = false;
  std::string widened;         ///< a sentence: why limits are wider than usual; empty: they are not
  double work = 0;             ///< multiply-adds
  HypothesesCheck hypotheses;  ///< mistakes that explain a wrong tensor

  /// The worst of all tensors; 0 when nothing was compared.
  double worstRatio() const;
  bool right() const { return worstRatio() <= 1 && !unlike_other_layers; }
  bool isWrong() const { return !right() && !keys_may_be_meant; }
};

/// Returns sentences that say why the recorded values of a layer cannot be computed again; none
/// when they can. `intent` is null when the recording has none.
std::vector<std::string> hindrances(const Trace& trace, const LayerTensors& layer,
                                    const IntentRecord* intent);

/// Computes a layer with at most about `work` multiply-adds. A larger layer is computed in part:
/// some (batch entry, KV head) pairs, evenly spread, each with all its rows. If not even one pair
/// fits, at least one query row of one pair is computed. This leaves out dk and dv, because they
/// are sums over all rows. Throws inputError when recorded values are damaged.
LayerCheck checkLayer(const Trace& trace, const LayerPass& pass,
                      const std::vector<WorldRank>& members, double work);

}  // namespace ringscope::traces
