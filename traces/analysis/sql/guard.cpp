// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/guard.h"

#include <sqlite3.h>

#include <string>
#include <string_view>

#include "traces/exchange/tables/table.h"
#include "traces/format/storage/sqlite.h"

namespace ringscope::traces {
namespace {

/// Reports whether a function of SQLite reads nothing but its arguments. See
/// https://sqlite.org/lang_corefunc.html, lang_aggfunc.html, windowfunctions.html,
/// lang_mathfunc.html, lang_datefunc.html, json1.html.
bool isHarmless(const std::string& function) {
  static constexpr std::string_view kFunctions =
      " abs avg ceil ceiling char coalesce count cume_dist dense_rank exp first_value floor "
      "format glob group_concat hex ifnull iif instr json json_array json_array_length "
      "json_extract json_group_array json_group_object json_object json_type json_valid lag "
      "last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value ntile "
      "nullif percent_rank pow power printf quote rank replace round row_number rtrim sign "
      "sqrt substr substring sum total trim trunc typeof unicode upper -> ->> ";
  return kFunctions.find(" " + function + " ") != std::string_view::npos;
}

bool isOurs(const std::string& table) {
  if (table.empty() || table == "json_each" || table == "json_tree") return true;
  for (const Table& one : tables())
    if (table == one.name) return true;
  return false;
}

std::string asText(const char* text) {
  return text ? text : "";
}

int authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_READ:
      // If no column is named, as in count(*), SQLite also asks with the name of a WITH.
      return asText(second).empty() || isOurs(asText(first)) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return isHarmless(asText(second)) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

void guard(sqlite3* db) {
  constexpr int kMostBytes = 16 << 20, kMostSql = 1 << 17;
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMostSql);
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 500);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
  sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 100'000);
  sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, 50);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
  confine(db);
  sqlite3_set_authorizer(db, authorize, nullptr);
}

}  // namespace ringscope::traces
