// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/row_limits.h"

namespace ringscope::traces {

/// Returns the precision in which these rows of a layer's attention were computed, as far as it is
/// recorded.
Precision findPrecision(const Trace& trace, const LayerTensors& layer, const Selection& selection);

/// The intended results of some rows of a layer, and the errors that rounding explains. They are
/// unsharded attention in fp64 of the recorded q, k, v, dout and sinks under the declared mask,
/// with one attention of a batch entry per group. The scale of the scores is not recorded and is
/// assumed to be 1 / √head_dim. Throws inputError when recorded values are damaged.
class MeantAttention {
 public:
  /// Computes the rows. `backward`: dout is recorded.
  MeantAttention(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                 AttentionMask mask, bool backward);
  MeantAttention(const MeantAttention&) = delete;
  MeantAttention& operator=(const MeantAttention&) = delete;

  const AttentionInputs& inputs() const { return in_; }
  const AttentionValues& values() const { return values_; }
  const Limits& limits() const { return limits_; }
  double work() const;  ///< returns the multiply-adds

 private:
  void selectSinks(const Trace& trace, const LayerTensors& layer, const Selection& selection);

  std::vector<double> q_, k_, v_, dout_, sinks_;
  AttentionInputs in_;
  AttentionValues values_;
  Limits limits_;
};

}  // namespace ringscope::traces
