// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// ATen's flash kernel for CPUs, in types narrower than fp32, adds the part of each tile to dq, dk
/// and dv in the stored type. These functions return how many times the square of storing such a
/// sum the error grows by that, relative to the sum of the squares of its terms, for the tiling
/// of any shards for which that is largest. The derivation is in the source.

/// Returns the number for dk and dv, sums over `rows` query rows of each of the `group` query heads
/// of a key head.
double queryTileRoundings(double rows, double group);

/// Returns the number for dq, a sum over `keys` keys.
double keyTileRoundings(double keys);

}  // namespace ringscope::traces
