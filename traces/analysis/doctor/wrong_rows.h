// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// "token 3", "tokens 16–19, 24 and 2 more ranges".
std::string runWords(const std::string& noun, const std::vector<TokenRun>& runs);
/// "rank 3", "ranks 0–2, 5".
std::string rankWords(const std::vector<WorldRank>& ranks);

/// The wrong rows of a comparison: "6 of 512 rows are wrong: heads 1–2, tokens 16–19, 24". Empty
/// where no row's ratio was recorded or none is above 1.
std::string wrongRowsWords(const DiffRecord& diff);

/// The cp rank whose rows are the worst; nothing where rows are no tokens'.
std::optional<std::size_t> worstCpRank(const DiffRecord& diff);
/// The rank that has the worst row of a comparison, as far as its sequence, its heads and its token
/// tell; none where they do not: tp ranks are told by heads alone, and only if the wrong rows are
/// of the heads of one.
WorldRank rankOfWorstRow(const Trace& trace, const DiffRecord& diff);

}  // namespace ringscope::traces
