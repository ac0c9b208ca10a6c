// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/nsight/tables.h"

#include <sqlite3.h>

#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/format/core/utf8.h"
#include "traces/format/storage/read_only.h"
#include "traces/format/storage/sqlite.h"

namespace ringscope::traces {
namespace {

/// The most bytes of a name that are kept.
constexpr std::size_t kMostText = 512;

/// Returns the stored columns of a table. A generated column is left out, because reading it would
/// run an expression of the file.
std::set<std::string> columnsOf(sqlite3* db, const std::string& table) {
  constexpr int kName = 1, kHidden = 6;
  Statement rows(db, "PRAGMA table_xinfo(" + table + ")");
  std::set<std::string> columns;
  while (rows.step())
    if (rows.integer(kHidden) == 0) columns.insert(rows.text(kName));
  return columns;
}

}  // namespace

void ForeignTables::Close::operator()(sqlite3* db) const {
  sqlite3_close(db);
}

int ForeignTables::authorize(void* tables, int action, const char* table, const char* /*column*/,
                             const char* /*database*/, const char* view) {
  const auto& names = static_cast<const ForeignTables*>(tables)->names_;
  if (view) return SQLITE_DENY;
  if (action == SQLITE_SELECT) return SQLITE_OK;
  if (action == SQLITE_PRAGMA && table && std::string_view(table) == "table_xinfo")
    return SQLITE_OK;
  const bool reads_plain_table =
      action == SQLITE_READ && table &&
      (names.contains(std::string_view(table)) || std::string_view(table) == "sqlite_master");
  return reads_plain_table ? SQLITE_OK : SQLITE_DENY;
}

ForeignTables::ForeignTables(const std::string& path) : db_(openForeignDatabase(path)) {
  constexpr int kMostBytes = 1 << 20;  // a blob of a capture can be larger; none is read
  sqlite3* db = db_.get();
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
  confine(db);
  sqlite3_set_authorizer(db, authorize, this);
  // Views, triggers and virtual tables have no root page.
  Statement names(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0");
  std::set<std::string, std::less<>> found;
  while (names.step()) found.insert(names.text(0));
  names_ = std::move(found);
}

std::string ForeignTables::read(const std::string& table, const std::vector<std::string>& columns,
                                const std::function<void(const ForeignRow& row)>& take) const {
  if (!has(table)) return "";
  std::string selected;
  ForeignRow row;
  try {
    const std::set<std::string> known = columnsOf(db_.get(), table);
    for (const std::string& column : columns)
      selected +=
          (selected.empty() ? "" : ", ") + (known.contains(column) ? '"' + column + '"' : "NULL");
    Statement rows(db_.get(), "SELECT " + selected + " FROM " + table);
    for (std::int64_t count = 0; rows.step(); ++count) {
      if (count == kMostRows) return "more than " + std::to_string(kMostRows) + " rows";
      row.numbers.clear();
      row.texts.clear();
      for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
        const bool number = rows.isInteger(i);
        row.numbers.push_back(number ? std::optional(rows.integer(i)) : std::nullopt);
        row.texts.push_back(number ? "" : toPlainText(rows.text(i), kMostText));
      }
      take(row);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ringscope::traces
