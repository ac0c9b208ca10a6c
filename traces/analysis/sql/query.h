// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
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

/// What a query may use before it is ended.
struct QueryBounds {
  std::chrono::milliseconds time{60'000};
  std::int64_t rows = 1'000'000;
  /// Of SQLite's memory in the whole process, while the query runs.
  static constexpr std::int64_t kBytes = std::int64_t{1} << 30;
};

/// How a query ended.
enum class QueryEnd {
  kAllRows,    ///< it gave all of its rows
  kEnough,     ///< the taker wanted no more
  kStopped,    ///< the taker's `stopped` said so
  kTimeBound,  ///< it took as long as it may
  kRowBound    ///< it gave as many rows as it may, and there are more
};
/// Says which bound was reached and how to raise it on the command line; empty for the first two.
std::string describe(QueryEnd end, const QueryBounds& bounds);

/// Runs one SELECT in SQLite's dialect over the tables of a recording (TABLES.md), in a connection
/// of its own that has nothing else: see guard.h. Rows come while the recording is still being
/// read; a large sort goes to a temporary file of SQLite's. Throws usageError with SQLite's reason
/// where it is no SELECT, several, wrong, or needs more memory than QueryBounds::kBytes; inputError
/// where the recording cannot be read. The rows that came before a bound was reached have been
/// taken. Not for a trace that another thread uses.
QueryEnd runQuery(const Trace& trace, const std::string& sql, const QueryTaker& taker,
                  const QueryBounds& bounds = {});

}  // namespace ringscope::traces
