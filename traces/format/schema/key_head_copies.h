// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ringscope::traces {

/// With how many copies of each key head the engine's backward works on a CPU, whose kernel gives
/// each key head of each sequence to one thread: where there are fewer of them than `threads`, with
/// the fewest by which the thread that has most of them has least to do. `key_heads`: of all
/// sequences; `group`: query heads of each, which the copies divide.
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
