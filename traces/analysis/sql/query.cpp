// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/query.h"

#include <sqlite3.h>

#include "traces/analysis/sql/guard.h"
#include "traces/analysis/sql/module.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

/// The conditions under which a query is interrupted.
struct Patience {
  SteadyClock::time_point until;
  std::function<bool()> stopped;

  bool isStopped() const { return stopped && stopped(); }
};

int isOver(void* patience) {
  const auto* of = static_cast<const Patience*>(patience);
  return of->isStopped() || SteadyClock::now() >= of->until ? 1 : 0;
}

/// A connection with the tables and nothing else.
class Connection {
 public:
  explicit Connection(Patience patience) : patience_(std::move(patience)) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    constexpr int kOperations = 10'000;  // operations between two looks at the clock
    sqlite3* db = nullptr;
    const int result = sqlite3_open_v2(":memory:", &db, kFlags, nullptr);
    db_.reset(db);
    if (result != SQLITE_OK) throw inputError("SQLite has not enough memory for a query");
    for (const Table& table : tables()) {
      addModule(db, table, queried_);
      introduce(db, table);
    }
    guard(db);
    sqlite3_progress_handler(db, kOperations, isOver, &patience_);
  }

  QueryEnd run(const QueriedTrace& traced, const std::string& sql, const QueryTaker& taker,
               std::int64_t most_rows) {
    queried_.traced = &traced;
    sqlite3_stmt* raw = nullptr;
    const char* rest = nullptr;
    const int prepared =
        sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &raw, &rest);
    const std::unique_ptr<sqlite3_stmt, Close> statement(raw);
    if (prepared != SQLITE_OK) fail();
    if (!raw || sqlite3_column_count(raw) == 0 || !sqlite3_stmt_readonly(raw) ||
        sqlite3_stmt_isexplain(raw) != 0)
      throw usageError("a query is one SELECT");
    checkOnlyOne(std::string(rest, sql.data() + sql.size()));
    taker.columns(columnsFor(raw));
    return takeRows(raw, taker.row, most_rows);
  }

 private:
  /// Returns why SQLite was interrupted. Throws any other error.
  QueryEnd whyEnded() const {
    if (patience_.isStopped()) return QueryEnd::kStopped;
    if (queried_.failure && SteadyClock::now() < patience_.until) throw *queried_.failure;
    if (queried_.failure || sqlite3_errcode(db_.get()) == SQLITE_INTERRUPT)
      return QueryEnd::kTimeBound;
    fail();
  }
  [[noreturn]] void fail() const {
    if (queried_.failure) throw *queried_.failure;
    if (sqlite3_errcode(db_.get()) == SQLITE_NOMEM)
      throw usageError("the query needs more than " + describeBytes(QueryBounds::kBytes) +
                       " of memory; ask for fewer or shorter values");
    throw usageError("the query cannot be run: " + toPlainText(sqlite3_errmsg(db_.get())));
  }

  /// Makes SQLite read the columns of a table. SQLite does so when a statement first names the
  /// table, by a declaration that guard() would reject.
  static void introduce(sqlite3* db, const Table& table) {
    sqlite3_stmt* raw = nullptr;
    const std::string sql = std::string("SELECT 1 FROM ") + table.name;
    const int result = sqlite3_prepare_v2(db, sql.c_str(), -1, &raw, nullptr);
    const std::unique_ptr<sqlite3_stmt, Close> statement(raw);
    if (result != SQLITE_OK) throw inputError(std::string("SQLite refuses ") + table.name);
  }

  /// Throws usageError when `rest` contains another statement. Spaces, comments and semicolons are
  /// allowed.
  void checkOnlyOne(const std::string& rest) const {
    sqlite3_stmt* more = nullptr;
    const char* at = rest.c_str();
    const char* const end = at + rest.size();
    while (at < end) {
      const char* const before = at;
      const int result = sqlite3_prepare_v2(db_.get(), at, -1, &more, &at);
      const std::unique_ptr<sqlite3_stmt, Close> statement(more);
      if (result != SQLITE_OK || more) throw usageError("a query is one SELECT, and this is more");
      if (at == before) break;
    }
  }

  static std::vector<std::string> columnsFor(sqlite3_stmt* statement) {
    std::vector<std::string> names;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const char* name = sqlite3_column_name(statement, i);
      names.push_back(toPlainText(name ? name : ""));
    }
    return names;
  }

  static Cell cellAt(sqlite3_stmt* statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
      case SQLITE_INTEGER:
        return std::int64_t{sqlite3_column_int64(statement, column)};
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement, column);
      case SQLITE_TEXT: {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
        const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
        return toUtf8(std::string_view(text ? text : "", text ? size : 0));
      }
      case SQLITE_BLOB:
        return hexOf(statement, column);
      default:
        return {};
    }
  }

  static std::string hexOf(sqlite3_stmt* statement, int column) {
    static constexpr const char* kDigits = "0123456789abcdef";
    const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement, column));
    std::string digits;
    for (int i = 0; bytes && i < sqlite3_column_bytes(statement, column); ++i) {
      digits += kDigits[bytes[i] >> 4];
      digits += kDigits[bytes[i] & 15];
    }
    return digits;
  }

  QueryEnd takeRows(sqlite3_stmt* statement, const std::function<bool(std::span<const Cell>)>& take,
                    std::int64_t most_rows) {
    std::vector<Cell> cells(static_cast<std::size_t>(sqlite3_column_count(statement)));
    int result = SQLITE_OK;
    for (std::int64_t rows = 0; (result = sqlite3_step(statement)) == SQLITE_ROW; ++rows) {
      if (rows == most_rows) return QueryEnd::kRowBound;
      for (std::size_t i = 0; i < cells.size(); ++i)
        cells[i] = cellAt(statement, static_cast<int>(i));
      if (!take(cells)) return QueryEnd::kEnough;
      if (patience_.isStopped()) return QueryEnd::kStopped;
    }
    return result == SQLITE_DONE ? QueryEnd::kAllRows : whyEnded();
  }

  Patience patience_;
  Queried queried_;
  std::unique_ptr<sqlite3, Close> db_;
};

/// A limit of SQLite's memory, which lasts as long as the object.
class HeapLimit {
 public:
  HeapLimit() : before_(sqlite3_hard_heap_limit64(QueryBounds::kBytes)) {}
  ~HeapLimit() { sqlite3_hard_heap_limit64(before_); }
  HeapLimit(const HeapLimit&) = delete;
  HeapLimit& operator=(const HeapLimit&) = delete;

 private:
  sqlite3_int64 before_;
};

}  // namespace

std::string describe(QueryEnd end, const QueryBounds& bounds) {
  switch (end) {
    case QueryEnd::kStopped:
      return "the query was stopped";
    case QueryEnd::kTimeBound:
      return "the query was ended after " +
             describeSeconds(std::chrono::duration<double>(bounds.time).count()) +
             "; ask for less, or give it more time with --timeout SECONDS";
    case QueryEnd::kRowBound:
      return "the query has more than " + describeCount(bounds.rows, "row") +
             "; add a LIMIT, or ask for more with --max-rows N";
    default:
      return "";
  }
}

QueryEnd runQuery(const Trace& trace, const std::string& sql, const QueryTaker& taker,
                  const QueryBounds& bounds) {
  const auto until = SteadyClock::now() + bounds.time;
  const QueriedTrace traced(trace, until);
  const HeapLimit limit;
  return Connection({until, taker.stopped}).run(traced, sql, taker, bounds.rows);
}

}  // namespace ringscope::traces
