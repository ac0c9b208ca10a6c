// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/observe/live_tensors.h"
#include "traces/exchange/control/requests.h"

namespace ringscope::engine {

/// The largest number of elements in an answer.
inline constexpr std::int64_t kMaxReadElements = 65'536;

traces::control::TensorList listLiveTensors(const LiveTensors& live);

/// Returns a slice of a live tensor. Allowed only while every rank stands at a gate. Throws
/// usageError if the tensor does not exist, or if the slice is out of range or too large.
traces::control::TensorSlice readLiveTensor(const LiveTensors& live,
                                            const traces::control::ReadTensor& asked);

}  // namespace ringscope::engine
