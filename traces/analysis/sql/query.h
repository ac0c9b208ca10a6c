// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/exchange/tables/column.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// What a query gives, as it comes: the names of its columns, then row by row; `row` says whether
/// it wants more. Cells are integers, reals, texts or nothing; a blob comes as hexadecimal digits.
struct QueryTaker {
  std::function<void(const std::vector<std::string>& columns)> columns;
  std::function<bool(std::span<const Cell> cells)> row;
  /// Asked between rows too, wherever the query is; null: never to be stopped.
  std::function<bool()> stopped = nullptr;
};

inline constexpr std::chrono::milliseconds kQueryTime{60'000};

/// Runs one SELECT in SQLite's dialect over the tables of a recording (TABLES.md), in a connection
/// of its own that has nothing else: see guard.h. Rows come while the recording is still being
/// read; a large sort goes to a temporary file of SQLite's. Throws usageError with SQLite's reason
/// where it is no SELECT, several, wrong, stopped, or takes longer than `most`; inputError where
/// the recording cannot be read. Not for a trace that another thread uses.
void runQuery(const Trace& trace, const std::string& sql, const QueryTaker& taker,
              std::chrono::milliseconds most = kQueryTime);

}  // namespace ringscope::traces
