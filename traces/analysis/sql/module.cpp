// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/module.h"

#include <sqlite3.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "traces/format/core/sentence_of.h"

namespace ringscope::traces {
namespace {

/// The data that SQLite passes to every function of a module.
struct Known {
  const Table& table;
  Queried& queried;
};

struct OpenTable : sqlite3_vtab {
  Known* known = nullptr;
};

struct Cursor : sqlite3_vtab_cursor {
  std::unique_ptr<TableRows> rows;
  bool ended = false;
  std::int64_t row = 0;
};

std::string declarationOf(const Table& table) {
  std::string sql = "CREATE TABLE x(";
  for (const Column& column : table.columns())
    sql += (sql.back() == '(' ? "\"" : ", \"") + column.name + "\" " + column.type;
  return sql + ")";
}

/// Runs `work` and keeps its exception for the caller, because no exception may pass through
/// SQLite, which gets a code.
template <typename Work>
int guarded(sqlite3_vtab* at, const Work& work) {
  Queried& queried = static_cast<OpenTable*>(at)->known->queried;
  try {
    work();
    return SQLITE_OK;
  } catch (const Error& error) {
    queried.failure = error;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& error) {
    queried.failure = inputError(toSentence(error));
  }
  return SQLITE_ERROR;
}

int connect(sqlite3* db, void* known, int, const char* const*, sqlite3_vtab** made, char**) {
  const int result =
      sqlite3_declare_vtab(db, declarationOf(static_cast<Known*>(known)->table).c_str());
  if (result != SQLITE_OK) return result;
  auto* table = new (std::nothrow) OpenTable();
  if (!table) return SQLITE_NOMEM;
  table->known = static_cast<Known*>(known);
  *made = table;
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete static_cast<OpenTable*>(table);
  return SQLITE_OK;
}

std::optional<QueryCondition::Is> comparisonOf(unsigned char op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return QueryCondition::Is::kEqual;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return QueryCondition::Is::kLess;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return QueryCondition::Is::kAtMost;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return QueryCondition::Is::kGreater;
    case SQLITE_INDEX_CONSTRAINT_GE:
      return QueryCondition::Is::kAtLeast;
    default:
      return std::nullopt;
  }
}

/// Requests the values of all comparisons. The index name holds the column and the comparison of
/// each value, as "column comparison;". SQLite tests all of them again.
int bestIndex(sqlite3_vtab*, sqlite3_index_info* info) {
  double rows = 1e7;
  int arguments = 0;
  std::string name;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const auto is = comparisonOf(constraint.op);
    const bool bytewise = std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
    if (!constraint.usable || !is || constraint.iColumn < 0 || !bytewise) continue;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    name += std::to_string(constraint.iColumn) + " " + std::to_string(static_cast<int>(*is)) + ";";
    rows /= *is == QueryCondition::Is::kEqual ? 8 : 2;
  }
  info->idxStr = sqlite3_mprintf("%s", name.c_str());
  if (!info->idxStr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  info->estimatedCost = rows;
  info->estimatedRows = static_cast<sqlite3_int64>(rows) + 1;
  return SQLITE_OK;
}

int openCursor(sqlite3_vtab*, sqlite3_vtab_cursor** made) {
  *made = new (std::nothrow) Cursor();
  return *made ? SQLITE_OK : SQLITE_NOMEM;
}

int closeCursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<Cursor*>(cursor);
  return SQLITE_OK;
}

Cell cellFor(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_value_int64(value)};
    case SQLITE_FLOAT:
      return sqlite3_value_double(value);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return std::string(text ? text : "", static_cast<std::size_t>(sqlite3_value_bytes(value)));
    }
    default:
      return {};
  }
}

std::vector<QueryCondition> conditionsOf(const char* name, int count, sqlite3_value** values) {
  std::vector<QueryCondition> conditions;
  for (int i = 0; i < count && name; ++i) {
    unsigned column = 0, is = 0;
    if (std::sscanf(name, "%u %u;", &column, &is) != 2) break;
    conditions.push_back({column, static_cast<QueryCondition::Is>(is), cellFor(values[i])});
    name = std::strchr(name, ';') + 1;
  }
  return conditions;
}

void step(Cursor& cursor) {
  cursor.ended = !cursor.rows->next();
  ++cursor.row;
}

int filter(sqlite3_vtab_cursor* at, int, const char* name, int count, sqlite3_value** values) {
  return guarded(at->pVtab, [&] {
    auto& cursor = *static_cast<Cursor*>(at);
    const Known& known = *static_cast<OpenTable*>(at->pVtab)->known;
    cursor.rows = known.table.open(*known.queried.traced, conditionsOf(name, count, values));
    cursor.row = 0;
    step(cursor);
  });
}

int next(sqlite3_vtab_cursor* at) {
  return guarded(at->pVtab, [&] { step(*static_cast<Cursor*>(at)); });
}

int atEnd(sqlite3_vtab_cursor* cursor) {
  return static_cast<Cursor*>(cursor)->ended ? 1 : 0;
}

int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<Cursor*>(cursor)->row;
  return SQLITE_OK;
}

struct Hand {
  sqlite3_context* to;
  void operator()(std::monostate) const { sqlite3_result_null(to); }
  void operator()(std::int64_t value) const { sqlite3_result_int64(to, value); }
  void operator()(double value) const { sqlite3_result_double(to, value); }
  void operator()(const char* name) const { sqlite3_result_text(to, name, -1, SQLITE_STATIC); }
  void operator()(const std::string& text) const {
    sqlite3_result_text64(to, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
};

int column(sqlite3_vtab_cursor* at, sqlite3_context* to, int index) {
  return guarded(at->pVtab, [&] {
    std::visit(Hand{to}, static_cast<Cursor*>(at)->rows->cell(static_cast<std::size_t>(index)));
  });
}

sqlite3_module moduleOfTables() {
  sqlite3_module module = {};
  module.xConnect = connect;  // no xCreate: the table exists and cannot be created
  module.xDisconnect = disconnect;
  module.xBestIndex = bestIndex;
  module.xOpen = openCursor;
  module.xClose = closeCursor;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = atEnd;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}

}  // namespace

void addModule(sqlite3* db, const Table& table, Queried& queried) {
  static const sqlite3_module kModule = moduleOfTables();
  const int result =
      sqlite3_create_module_v2(db, table.name, &kModule, new Known{table, queried},
                               [](void* known) { delete static_cast<Known*>(known); });
  if (result != SQLITE_OK) throw inputError(std::string("SQLite refuses the table ") + table.name);
}

}  // namespace ringscope::traces
