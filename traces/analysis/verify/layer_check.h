// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/hypotheses/hypothesis_check.h"
#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/analysis/verify/recompute/fitted_attention.h"

namespace ringscope::traces {

/// A layer of one group of ranks as it was recorded against unsharded attention in fp64, computed
/// from the recorded q, k, v, dout and attention sinks under the declared mask, with the scale and
/// softcap that the recording states or the recorded output shows.
struct LayerCheck {
  LayerPass pass;
  std::vector<WorldRank> members;
  Selection selection;               ///< what was computed
  std::vector<TensorCheck> tensors;  ///< in the order out, lse, dq, dk, dv; those that could be
  std::vector<std::string> skipped;  ///< sentences: what was not computed or compared, and why
  /// Whether recorded out agrees with another attention than is stated; `tensors` are compared with
  /// the attention that was inferred for kOther, and empty for kNothing.
  AttentionFits fits = AttentionFits::kStated;
  std::string fits_words;  ///< a sentence without its full stop; empty for kStated
  ScoreRule scores;        ///< with which `tensors` were computed
  bool fitted_sinks = false;
  /// Its attention is inferred, and is not that of other layers.
  bool unlike_other_layers = false;
  std::string widened;         ///< a sentence: why limits are wider than usual; empty: they are not
  double work = 0;             ///< multiply-adds
  HypothesesCheck hypotheses;  ///< where something was wrong: what explains it

  /// The worst of all tensors; 0 when nothing was compared.
  double worstRatio() const;
  bool right() const { return worstRatio() <= 1 && !unlike_other_layers; }
};

/// Sentences: why what was recorded of a layer cannot be computed again. `intent`: null: there is
/// none.
std::vector<std::string> hindrances(const Trace& trace, const LayerTensors& layer,
                                    const IntentRecord* intent);

/// `work`: at most about so many multiply-adds. Where a layer takes more, some (batch entry, KV
/// head) pairs are computed whole, evenly spread; where not even one fits, some query rows of one,
/// and dk and dv, which are sums over all rows, are left out. At least one row is computed. Throws
/// inputError when recorded values are damaged.
LayerCheck checkLayer(const Trace& trace, const LayerPass& pass,
                      const std::vector<WorldRank>& members, double work);

}  // namespace ringscope::traces
