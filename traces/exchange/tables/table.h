// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "traces/exchange/tables/column.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {

/// A condition of a query on a column, from its WHERE or ON. SQLite tests it again, so a table may
/// ignore it.
struct QueryCondition {
  enum class Is { kEqual, kLess, kAtMost, kGreater, kAtLeast };
  std::size_t column = 0;
  Is is = Is::kEqual;
  Cell value;
};

/// The integers from `least` to `most`, both included.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool holds(std::int64_t value) const { return value >= least && value <= most; }
};
/// Returns the range that the conditions on a column of integers leave; everything when they
/// compare with no number.
Range rangeFor(std::span<const QueryCondition> conditions, std::size_t column);

/// The rows of one scan of a table, in order.
class TableRows {
 public:
  virtual ~TableRows() = default;
  /// Moves to the next row, the first time to the first row. Returns false after the last row.
  virtual bool next() = 0;
  /// Returns a cell of the current row.
  virtual Cell cell(std::size_t column) const = 0;
};

/// A recording as tables read it, for the duration of one query.
class QueriedTrace {
 public:
  QueriedTrace(const Trace& trace, std::chrono::steady_clock::time_point until)
      : trace_(trace), until_(until) {}
  const Trace& trace() const { return trace_; }
  /// Throws usageError when the query has used up its time.
  void checkTime() const;
  /// Returns a value that a table computes once per query, because SQLite may scan a table many
  /// times.
  template <typename T>
  const T& once(std::string_view table, const std::function<T()>& compute) const {
    auto& kept = kept_[std::string(table)];
    if (!kept) kept = std::make_shared<T>(compute());
    return *static_cast<const T*>(kept.get());
  }

 private:
  const Trace& trace_;
  std::chrono::steady_clock::time_point until_;
  mutable std::map<std::string, std::shared_ptr<void>> kept_;
};

/// A read-only table over a recording.
struct Table {
  const char* name;
  const char* says;  ///< a clause for the user: the meaning of a row
  const std::vector<Column>& (*columns)();
  /// Opens a scan. `traced` must outlive the rows.
  std::unique_ptr<TableRows> (*open)(const QueriedTrace& traced,
                                     std::span<const QueryCondition> conditions);
};

/// Returns all tables. A new table is a file in this folder and a line in registry.cpp.
std::span<const Table> tables();

extern const Table kEventsTable, kHopsTable, kTensorsTable, kMemoryTable, kShardsTable, kDiffsTable,
    kFindingsTable, kTokensTable;

/// The rows of existing records. `records` are pointers or values that outlive this object.
template <typename Record>
class RecordRows : public TableRows {
 public:
  RecordRows(std::span<const Record> records, const std::vector<Column>& columns)
      : records_(records), columns_(columns) {}
  bool next() override { return ++at_ <= records_.size(); }
  Cell cell(std::size_t column) const override { return columns_[column].of(&records_[at_ - 1]); }

 private:
  std::span<const Record> records_;
  const std::vector<Column>& columns_;
  std::size_t at_ = 0;
};

}  // namespace ringscope::traces
