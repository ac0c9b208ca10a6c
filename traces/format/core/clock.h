// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ringscope::traces {

/// Nanoseconds on a clock that never goes back; comparable between the threads of one machine.
std::int64_t steadyNow();

/// CPU time that the calling thread has used, in nanoseconds.
std::int64_t threadCpuNow();

}  // namespace ringscope::traces
