// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/tensor_key.h"

namespace ringscope::traces {

// Tensors that rules find by their name alone (TensorKind::kOther).

/// The token ids of all sequences that a rank works on, before they are sharded: [B, S].
inline constexpr const char* kWholeBatch = "batch.input_ids";
/// The sum of the cross entropy over a rank's own targets, and the number of these targets. Each
/// has one element, so its statistics give its value.
inline constexpr const char* kOwnLossSum = "loss.sum";
inline constexpr const char* kOwnTargets = "loss.targets";

/// The prefix of the names of the targets of heads that predict later tokens: "labels.head.1".
inline constexpr const char* kFurtherLabels = "labels.head.";

/// The prefixes of the names of error maps that verification computes and records, by unit. The
/// name of the compared tensor follows: "error.abs.dk".
inline constexpr const char* kAbsoluteErrors = "error.abs.";
inline constexpr const char* kRelativeErrors = "error.rel.";
inline constexpr const char* kUlpErrors = "error.ulp.";

/// Reports whether verification, and not the run, computed a tensor.
inline bool isDerived(const TensorName& tensor) {
  return tensor.kind == TensorKind::kOther && tensor.name.starts_with("error.");
}

}  // namespace ringscope::traces
