// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "traces/schema/records.h"

namespace ringscope::traces {

/// The run that holds a token, of ascending ones that do not overlap; null when none does.
inline const TokenRun* runWith(const std::vector<TokenRun>& runs, TokenIndex token) {
  const auto after = std::ranges::upper_bound(runs, token.value(), {}, &TokenRun::begin);
  if (after == runs.begin()) return nullptr;
  const TokenRun& run = *(after - 1);
  return token.value() < run.end ? &run : nullptr;
}

}  // namespace ringscope::traces
