// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "traces/analysis/verify/recompute/gather.h"
#include "traces/analysis/verify/recompute/limited_attention.h"

namespace ringscope::traces {

/// Returns the logits of a layer's attention sinks by head, inferred or recorded; empty without
/// sinks, nullopt when the recorded values are missing.
std::optional<std::vector<double>> sinkLogits(const Trace& trace, const LayerTensors& layer);

/// The intended results of some rows of a layer, and the errors that rounding explains. They are
/// unsharded attention in fp64 of the recorded q, k, v, dout and sinks under the declared mask,
/// with one attention of a batch entry per group. Scale, softcap and inferred sinks are the
/// layer's. Throws inputError when recorded values are damaged.
class MeantAttention {
 public:
  /// The out with which backward begins.
  /// - kStored: the recorded out, in those rows in which it is within rounding.
  /// - kExact: the computed out. Limits of dq and dk then include the error of delta that rounding
  ///   of out causes.
  enum class Delta { kStored, kExact };
  /// Computes the rows. `backward`: dout is recorded.
  MeantAttention(const Trace& trace, const LayerTensors& layer, const Selection& selection,
                 AttentionMask mask, bool backward, Delta delta = Delta::kStored);
  MeantAttention(const MeantAttention&) = delete;
  MeantAttention& operator=(const MeantAttention&) = delete;

  const AttentionInputs& inputs() const { return in_; }
  const AttentionValues& values() const { return attention_.values; }
  const Limits& limits() const { return attention_.limits; }
  double work() const;  ///< returns the multiply-adds

 private:
  void selectSinks(const Trace& trace, const LayerTensors& layer, const Selection& selection);

  std::vector<double> q_, k_, v_, dout_, sinks_;
  AttentionInputs in_;
  LimitedAttention attention_;
};

}  // namespace ringscope::traces
