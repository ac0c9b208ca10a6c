// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ringscope::traces {

/// Returns nanoseconds on a clock that never goes back. The readings of all threads of one machine
/// are comparable.
std::int64_t steadyNow();

/// Returns the CPU time that the calling thread has used, in nanoseconds.
std::int64_t threadCpuNow();

}  // namespace ringscope::traces
