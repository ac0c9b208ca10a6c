// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/row_limits.h"

namespace ringscope::traces {

/// How these rows of a layer's attention were computed, as far as it is recorded.
Precision precisionOf(const Trace& trace, const LayerTensors& layer, const Selection& selection);

/// Some rows of a layer as they were meant: unsharded attention in fp64 of the recorded q, k, v,
/// dout and sinks under the declared mask, as one attention of a batch entry a group, and how far
/// rounding may carry what the run computed. Not recorded, and so taken as usual: scores are scaled
/// by 1 / √head_dim. Throws inputError when recorded values are damaged.
class MeantAttention {
 public:
  /// `backward`: dout is recorded.
  MeantAttention(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                 AttentionMask mask, bool backward);
  MeantAttention(const MeantAttention&) = delete;
  MeantAttention& operator=(const MeantAttention&) = delete;

  const AttentionInputs& inputs() const { return in_; }
  const AttentionValues& values() const { return values_; }
  const Limits& limits() const { return limits_; }
  double work() const;  ///< multiply-adds

 private:
  void selectSinks(const Trace& trace, const LayerTensors& layer, const Selection& selection);

  std::vector<double> q_, k_, v_, dout_, sinks_;
  AttentionInputs in_;
  AttentionValues values_;
  Limits limits_;
};

}  // namespace ringscope::traces
