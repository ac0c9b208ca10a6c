// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "traces/format/trace/called_losses.h"

namespace ringscope::traces {

/// The loss with which a training step's backward began, as far as the recording establishes it.
struct StepLoss {
  /// Reason why the loss may be something else than the cross entropy of the recorded logits and
  /// labels; empty: it is that and nothing else.
  std::string unlike;
  /// Reason why the gradient of the output projection may not follow from those logits; empty: it
  /// does.
  std::string unlike_product;
  double logit_softcap = 0;  ///< c of the logits c·tanh(product / c); 0: the logits are the product
  double smoothing = 0;      ///< label smoothing; 0 unless it is known
  bool several_calls = false;   ///< a rank's loss has several parts: microbatches, chunks or heads
  bool narrow_product = false;  ///< the output projection multiplied in a type of 16 bits
  std::string parameter;        ///< weight of the output projection; empty: not known
  bool tied = false;            ///< that weight also embeds tokens

  bool isKnown() const { return unlike.empty(); }
  bool isProductKnown() const { return unlike.empty() && unlike_product.empty(); }
};

/// Returns the loss of a training step. A run of RingScope trains with cross entropy alone. For any
/// other job, the recorded calls of cross entropy say it, and the gradients that backward brought
/// to their logits.
StepLoss stepLoss(const Trace& trace, std::int32_t train_step);

/// The share of a gradient that rounding explains in a product of a 16-bit type.
inline constexpr double kSixteenBitShare = 0.015;
/// Returns the share of a gradient that rounding explains in a product of this type.
double roundingShare(const std::string& dtype);

}  // namespace ringscope::traces
