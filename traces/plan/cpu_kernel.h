// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace ringscope::traces {

// How ATen's flash kernel for CPUs cuts a call into tiles and shares it among threads
// (aten/src/ATen/native/cpu/FlashAttentionKernel.cpp). No other file states these numbers.

/// The query rows of one tile, in calls of at least `from` rows.
struct RowTile {
  std::int64_t from = 0, rows = 0;
};
inline constexpr std::array<RowTile, 3> kRowTiles = {{{0, 32}, {192, 64}, {768, 256}}};
/// The keys of one tile.
inline constexpr std::int64_t kKeysPerTile = 512;
/// The largest number of terms that a matrix product adds up one after another (measured).
inline constexpr std::int64_t kLongestRun = 384;

/// Returns the number of copies of each key head that the engine's backward computes with on a CPU.
/// ATen's kernel gives each key head of each sequence to one thread, so with fewer key heads than
/// `threads` some threads would be idle. Chooses the smallest number of copies that minimises the
/// work of the busiest thread. The argument `key_heads` counts the key heads of all sequences. The
/// argument `group` is the number of query heads per key head; the copies divide it.
constexpr std::int64_t keyHeadCopies(std::int64_t key_heads, std::int64_t group,
                                     std::int64_t threads) {
  if (key_heads >= threads) return 1;
  const auto turns = [&](std::int64_t copies) {
    return (key_heads * copies + threads - 1) / threads;
  };
  std::int64_t best = 1;
  for (std::int64_t copies = 2; copies <= group; ++copies)
    if (group % copies == 0 && turns(copies) * best < turns(best) * copies) best = copies;
  return best;
}

}  // namespace ringscope::traces
