// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/observe/live_tensors.h"
#include "traces/exchange/control/requests.h"

namespace ringscope::engine {

/// No answer holds more elements.
inline constexpr std::int64_t kMaxReadElements = 65'536;

traces::control::TensorList listLiveTensors(const LiveTensors& live);

/// Only while every rank stands at a gate. Throws usageError when there is no such tensor, or the
/// slice lies outside it or is too large.
traces::control::TensorSlice readLiveTensor(const LiveTensors& live,
                                            const traces::control::ReadTensor& asked);

}  // namespace ringscope::engine
