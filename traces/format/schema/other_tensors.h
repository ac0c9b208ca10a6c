// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/format/schema/tensor_key.h"

namespace ringscope::traces {

// What rules look for among tensors that are known by their name alone (TensorKind::kOther).

/// The token ids of all sequences that a rank works on, before they are cut: [B, S].
inline constexpr const char* kWholeBatch = "batch.input_ids";
/// The sum of the cross entropy over a rank's own targets, and their number: one element each, so
/// that its statistics are its value.
inline constexpr const char* kOwnLossSum = "loss.sum";
inline constexpr const char* kOwnTargets = "loss.targets";

/// What verification computes and records: maps of the errors of a tensor, by unit. The name of the
/// tensor follows, "error.abs.dk".
inline constexpr const char* kAbsoluteErrors = "error.abs.";
inline constexpr const char* kRelativeErrors = "error.rel.";
inline constexpr const char* kUlpErrors = "error.ulp.";

/// Whether verification computed a tensor. The run did not, so the tensor is no result of the run.
inline bool isDerived(const TensorName& tensor) {
  return tensor.kind == TensorKind::kOther && tensor.name.starts_with("error.");
}

}  // namespace ringscope::traces
