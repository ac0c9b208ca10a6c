// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <utility>

#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// The value of a token id, label or position id, and the rank that had it. InputRows holds these
/// by sequence of the whole batch and token.
struct InputEntry {
  double value = 0;
  WorldRank rank;
};
using InputRows = std::map<std::pair<std::int64_t, std::int64_t>, InputEntry>;

/// Adds one rank's part of an input, [B, tokens] or [tokens], if its values and tokens are known.
void addInputPart(const Trace& trace, const TensorRecord& part, InputRows& rows);

}  // namespace ringscope::traces
