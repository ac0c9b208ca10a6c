// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

/// Runs kernels on the host: the 32 lanes of a warp are fibers that take turns.
namespace ringscope::simt {

struct Index {
  unsigned x = 0;
};

/// The place of the lane that runs, as kernels read it.
Index& blockOfLane();
Index& threadOfLane();

/// Runs `lane` for every thread of a grid. The lanes of a warp run in an order that is drawn from
/// `seed`, anew from each meeting to the next. Throws std::logic_error when some lanes of a warp
/// wait in meet() and others have returned.
void runGrid(unsigned blocks, unsigned threads_per_block, unsigned seed,
             const std::function<void()>& lane);

/// Waits until every lane of the warp waits.
void meet();
/// Returns the value that the lane with number (own XOR `mask`) gave. Every lane of the warp calls
/// it.
float exchange(float value, int mask);

}  // namespace ringscope::simt
