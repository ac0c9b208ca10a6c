// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ringscope::engine {

/// ATen's flash kernel on the CPU, in types narrower than fp32, adds what a tile gives to dq, dk
/// and dv in the stored type. How many times the square of storing such a sum they are off by
/// because of it, relative to the sum of the squares of its terms; of the tiling of any shards for
/// which that is most. The derivation is in the source.

/// Of dk and dv, sums over so many query rows of each of the `group` query heads of a key head.
at::Tensor queryTileRoundings(const at::Tensor& rows, double group);

/// Of dq, a sum over so many keys.
at::Tensor keyTileRoundings(const at::Tensor& keys);

}  // namespace ringscope::engine
