// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::engine {

/// Calls the vector functions of LibTorch's maths library once, on the calling thread only. Later
/// calls do nothing. Call it before threads start to compute. If several threads make the first
/// call at once, the library occasionally gives one thread a less exact function for that call. In
/// 6 of 240 processes whose first at::logsumexp in fp64 ran on two threads, one thread's half was
/// off by 1.5e-9 (LibTorch 2.11 with MKL). After one call on one thread, no process was.
void settleVectorMaths();

}  // namespace ringscope::engine
