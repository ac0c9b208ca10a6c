// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "engine/observe/live_tensors.h"

namespace ringscope::engine {

/// No answer holds more elements.
inline constexpr std::int64_t kMaxReadElements = 65'536;

/// Every live tensor: [{"rank", "tensor", "layer", "place", "dtype", "shape"}].
nlohmann::json listLiveTensors(const LiveTensors& live);

/// Answers {"rank", "tensor", "layer", "begin": […], "end": […]} (without begin and end: all of it;
/// "lead": […] instead gives one index of each of the first dimensions)
/// with {"place", "dtype", "shape", "begin", "end", "values"}, row by row; what is not finite is
/// "nan", "inf" or "-inf". Only while every rank stands at a gate. Throws usageError.
nlohmann::json readLiveTensor(const LiveTensors& live, const nlohmann::json& request);

}  // namespace ringscope::engine
