// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "traces/format/schema/records.h"

namespace ringscope::traces {

/// Returns the run that contains a token; null when there is none. `runs` must be ascending and
/// must not overlap.
inline const TokenRun* runWith(const std::vector<TokenRun>& runs, TokenIndex token) {
  const auto after = std::ranges::upper_bound(runs, token.value(), {}, &TokenRun::begin);
  if (after == runs.begin()) return nullptr;
  const TokenRun& run = *(after - 1);
  return token.value() < run.end ? &run : nullptr;
}

/// Returns the same tokens as ascending runs that neither overlap nor touch.
inline std::vector<TokenRun> joinedRuns(std::vector<TokenRun> runs) {
  std::ranges::sort(runs, {}, &TokenRun::begin);
  std::vector<TokenRun> joined;
  for (const TokenRun& run : runs)
    if (!joined.empty() && run.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, run.end);
    else
      joined.push_back(run);
  return joined;
}

/// Returns the same tokens in the same order, with runs that continue each other as one run and
/// without empty runs.
inline std::vector<TokenRun> joinedInOrder(const std::vector<TokenRun>& runs) {
  std::vector<TokenRun> joined;
  for (const TokenRun& run : runs) {
    if (run.end <= run.begin) continue;
    if (!joined.empty() && joined.back().end == run.begin)
      joined.back().end = run.end;
    else
      joined.push_back(run);
  }
  return joined;
}

/// Returns the ascending runs of these numbers. The numbers may be in any order and may repeat.
inline std::vector<TokenRun> toRuns(const std::vector<std::int64_t>& numbers) {
  std::vector<TokenRun> runs;
  runs.reserve(numbers.size());
  for (const std::int64_t number : numbers) runs.push_back({number, number + 1});
  return joinedRuns(std::move(runs));
}

}  // namespace ringscope::traces
