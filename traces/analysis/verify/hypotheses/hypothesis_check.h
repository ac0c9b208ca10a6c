// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "traces/analysis/verify/recompute/comparison.h"
#include "traces/analysis/verify/recompute/mask.h"

namespace ringscope::traces {

/// The recording of a layer, compared with the layer that one mistake gives.
struct HypothesisCheck {
  std::string mistake;               ///< an id of the catalogue
  std::string how;                   ///< its form, as the end of a sentence; empty: it has one form
  std::vector<TensorCheck> tensors;  ///< as those of a LayerCheck; without dq, dk and dv if
                                     ///< nothing describes the attention and out is wrong
  double sample = 0;                 ///< what it gives for the sample below
  bool may_be_meant = false;         ///< a right job can be made so

  double ratio() const { return worstRatio(tensors); }
  /// The recording is what the mistake gives, within rounding.
  bool reproduces() const { return ratio() <= 1; }
};

/// One number of the recording: in the row that is furthest from what was meant the one that is.
struct RecordedSample {
  TensorKind kind = TensorKind::kOut;
  RowError row;
  std::size_t element = 0;  ///< of the row
  double recorded = 0, meant = 0;
};

/// All hypotheses that would change the rows that were looked at, the likeliest first.
struct HypothesesCheck {
  /// The rows of one KV head, that of the worst wrong row: all, or some if out alone is compared
  /// and all would take too much work.
  Selection selection;
  double meant_ratio = 0;  ///< of what was meant, in these rows
  RecordedSample sample;
  std::vector<HypothesisCheck> checks;
  std::string skipped;  ///< why none was computed; empty otherwise
  std::string assumed;  ///< a sentence about what is inferred; empty: all is recorded

  /// Returns the mistake that gives the recording; null: none does.
  const HypothesisCheck* reproduced() const {
    return !checks.empty() && checks.front().reproduces() ? &checks.front() : nullptr;
  }
};

/// `wrong`: how the layer's tensors differ from what was meant. `work`: at most about so many
/// multiply-adds for all hypotheses together. Limits are those of what was meant, in proportion
/// where a mistake makes a row larger.
HypothesesCheck checkHypotheses(const Trace& trace, const LayerTensors& layer,
                                const std::vector<WorldRank>& members, const AttentionMask& mask,
                                const std::vector<TensorCheck>& wrong, double work);

}  // namespace ringscope::traces
