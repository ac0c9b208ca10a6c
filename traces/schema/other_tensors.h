// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traces/schema/tensor_key.h"

namespace ringscope::traces {

// What rules look for among tensors that are known by their name alone (TensorKind::kOther).

/// The token ids of all sequences that a rank works on, before they are cut: [B, S].
inline constexpr const char* kWholeBatch = "batch.input_ids";
/// The sum of the cross entropy over a rank's own targets, and their number: one element each, so
/// that its statistics are its value.
inline constexpr const char* kOwnLossSum = "loss.sum";
inline constexpr const char* kOwnTargets = "loss.targets";

}  // namespace ringscope::traces
