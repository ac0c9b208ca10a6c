// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The numbers of token ids, labels or position ids by sequence of the whole batch and token, and
/// who had each.
struct InputEntry {
  double value = 0;
  WorldRank rank;
};
using InputRows = std::map<std::pair<std::int64_t, std::int64_t>, InputEntry>;

/// Adds one rank's part of an input, [B, tokens] or [tokens], if its values and tokens are known.
void addInputPart(const Trace& trace, const TensorRecord& part, InputRows& rows);

}  // namespace ringscope::traces
