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
#include "traces/analysis/verify/rounding/tile_roundings.h"

#include <algorithm>

namespace ringscope::traces {

double queryTileRoundings(double rows, double group) {
  if (rows < 192) return 0.5 + group * rows / 64;
  return rows < 768 ? 1 + group * std::max(rows / 64, 6.0) : 1 + group * std::max(rows / 256, 12.0);
}

double keyTileRoundings(double keys) {
  return std::max(keys / 1024, std::min(keys / 64, 1.0));
}

}  // namespace ringscope::traces
