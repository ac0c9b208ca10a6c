// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/format/schema/token_runs.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// Returns "token 3" or "tokens 16–19, 24 and 2 more ranges".
std::string runWords(const std::string& noun, const std::vector<TokenRun>& runs);
/// Returns "rank 3" or "ranks 0–2, 5".
std::string rankWords(const std::vector<WorldRank>& ranks);

/// Returns "6 of 512 rows are wrong: heads 1–2, tokens 16–19, 24". Returns an empty string when no
/// ratios of rows were recorded or none is above 1.
std::string wrongRowsWords(const DiffRecord& diff);

/// Returns the cp rank with the worst row; nullopt when rows are not tokens.
std::optional<std::size_t> worstCpRank(const DiffRecord& diff);
/// Returns the rank with the worst row of a comparison, or no rank when it cannot be told. The
/// sequence, heads and token of the row tell the rank. Heads alone tell the tp rank, if all
/// wrong rows belong to heads of one.
WorldRank rankOfWorstRow(const Trace& trace, const DiffRecord& diff);

}  // namespace ringscope::traces
