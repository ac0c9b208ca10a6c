// SPDX-License-Identifier: Apache-2.0
//
// The kernel (ATen/native/cpu/FlashAttentionKernel.cpp) takes tiles of 32 query rows, 64 (from 192
// rows on) or 256 (from 768 on), and the g query heads of a key head go on adding to the same dk
// and dv. A sum of n tiles is rounded n times while it grows like √n, also where its end is small:
// (n + 1)/2 times the square of storing its terms, up to twice that where n is large. Shards of R
// rows have smaller tiles and shorter sums: (gR/32 + 1)/2, gR/64 + 1 or gR/256 + 1 times. Measured
// on the operator alone: with 3 heads a group the errors are 1.4 times those with one. Where a rank
// has threads for copies of its key heads (traces/format/schema/key_head_copies.h) the sums are
// shorter.
#include "engine/verify/tile_roundings.h"

#include <ATen/ATen.h>

namespace ringscope::engine {

at::Tensor queryTileRoundings(const at::Tensor& rows, double group) {
  const at::Tensor medium = 1 + group * (rows / 64).clamp_min(6),
                   large = 1 + group * (rows / 256).clamp_min(12);
  return at::where(rows < 192, 0.5 + group * rows / 64, at::where(rows < 768, medium, large));
}

at::Tensor keyTileRoundings(const at::Tensor& keys) {
  return at::maximum(keys / 1024, (keys / 64).clamp_max(1));
}

}  // namespace ringscope::engine
