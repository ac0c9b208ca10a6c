// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ringscope::traces {

/// In types narrower than fp32, ATen's flash kernel for CPUs adds the part of each tile to dq, dk
/// and dv in the stored type. This rounds the sum once per tile. These functions return the added
/// error for the tiling of any shards that gives the largest one. The unit is the square of one
/// rounding, relative to the sum of the squares of the terms. The derivation is in the source.

/// Returns the number for dk and dv, sums over `rows` query rows of each of the `group` query heads
/// of a key head.
double queryTileRoundings(double rows, double group);

/// Returns the number for dq, a sum over `keys` keys.
double keyTileRoundings(double keys);

}  // namespace ringscope::traces
