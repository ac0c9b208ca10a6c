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

/// The receiver of a query's result: first the names of the columns, then row by row. `row` returns
/// false to stop. Cells are integers, reals, texts or empty; a blob arrives as hexadecimal digits.
struct QueryTaker {
  std::function<void(const std::vector<std::string>& columns)> columns;
  std::function<bool(std::span<const Cell> cells)> row;
  /// Is also polled between rows, wherever the query is; null: the query is never stopped.
  std::function<bool()> stopped = nullptr;
};

/// The limits of a query.
struct QueryBounds {
  std::chrono::milliseconds time{60'000};
  std::int64_t rows = 1'000'000;
  /// The largest memory of SQLite in the whole process while the query runs, in bytes.
  static constexpr std::int64_t kBytes = std::int64_t{1} << 30;
};

/// The reason why a query ended.
enum class QueryEnd {
  kAllRows,    ///< all rows were returned
  kEnough,     ///< the receiver wanted no more rows
  kStopped,    ///< the receiver's `stopped` returned true
  kTimeBound,  ///< the time limit was reached
  kRowBound    ///< the limit of rows was reached, and there are more rows
};
/// Says which limit was reached and how to raise it on the command line; empty for the first two
/// reasons.
std::string describe(QueryEnd end, const QueryBounds& bounds);

/// Runs one SELECT in SQLite's dialect over the tables of a recording (TABLES.md), in a connection
/// that has nothing else (see guard.h). Returns rows while the recording is still being read; a
/// large sort uses a temporary file of SQLite. Throws usageError with SQLite's reason when the text
/// is no SELECT, contains several statements, is wrong, or needs more memory than
/// QueryBounds::kBytes. Throws inputError when the recording cannot be read. Rows before a limit
/// was reached have been passed on. The trace must not be used by another thread meanwhile.
QueryEnd runQuery(const Trace& trace, const std::string& sql, const QueryTaker& taker,
                  const QueryBounds& bounds = {});

}  // namespace ringscope::traces
