// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ringscope::traces {

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
