// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/description.h"

#include "traces/analysis/sql/named_queries.h"
#include "traces/exchange/tables/table.h"

namespace ringscope::traces {
namespace {

constexpr const char* kHead = R"(# Tables and queries of `ringscope query`

`ringscope query TRACE 'SELECT …'` takes one SELECT in SQLite's dialect over the tables below, which are read-only and named as the
fields of the recording ([FORMAT.md](../FORMAT.md)). Times are nanoseconds since the run began. NULL: none, or not recorded.
Conditions on rank and train_step of `events` are looked up in the recording's index, so that only the chunks that may hold such rows
are decoded. To join a table with itself, say `WITH x AS MATERIALIZED (SELECT …)`: SQLite
then makes an index. `group` and `limit` are words of SQL; write them as `"group"` and `"limit"`.
)";

}  // namespace

std::string describeTables() {
  std::string text = kHead;
  for (const Table& table : tables()) {
    text += std::string("\n## ") + table.name + ": " + table.says +
            "\n\n| column | type | what it is |\n|---|---|---|\n";
    for (const Column& column : table.columns())
      text += "| " + column.name + " | " + column.type + " | " + column.meaning +
              (column.values.empty() ? "" : ": " + column.values) + " |\n";
  }
  text += "\n## Named queries (`--named`)\n\n| name | what it says |\n|---|---|\n";
  for (const NamedQuery& query : namedQueries())
    text += std::string("| ") + query.name + " | " + query.says + " |\n";
  return text;
}

}  // namespace ringscope::traces
