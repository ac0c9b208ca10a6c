// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::engine {

/// Calls the vector functions of LibTorch's maths library once, on this thread alone; again, it
/// does nothing. Where the first calls come from several threads at once, the library now and then
/// gives one of them a less exact function for this call: of 240 processes whose first
/// at::logsumexp in fp64 ran on two threads, 6 were off by 1.5e-9 in one thread's half
/// (LibTorch 2.11 with MKL); after one call on one thread, none. Call it before threads are started
/// that compute.
void settleVectorMaths();

}  // namespace ringscope::engine
