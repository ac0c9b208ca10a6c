// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/query.h"

#include <iostream>

#include "app/command_line/command.h"
#include "app/command_line/table_printer.h"
#include "traces/analysis/sql/description.h"
#include "traces/analysis/sql/named_queries.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"

namespace ringscope::app {
namespace {

struct Options {
  std::string trace, sql, named;
  bool json = false, csv = false, list = false;
  double seconds = 60;
};

std::string sqlOf(const Options& o) {
  if (o.sql.empty() == o.named.empty())
    throw usageError("a query is 'SELECT …' or --named NAME; --list says what there is to ask");
  return o.named.empty() ? o.sql : traces::namedQuery(o.named).sql;
}

void run(const Options& o) {
  if (o.list) {
    std::cout << traces::describeTables();
    return;
  }
  if (o.trace.empty()) throw usageError("TRACE is required");
  const std::string sql = sqlOf(o);
  const auto trace = traces::openTrace(o.trace);
  const auto printer = makeTablePrinter(o.json  ? TableForm::kJson
                                        : o.csv ? TableForm::kCsv
                                                : TableForm::kText,
                                        std::cout);
  const std::chrono::milliseconds most(static_cast<std::int64_t>(o.seconds * 1000));
  traces::runQuery(*trace, sql,
                   {[&](const std::vector<std::string>& columns) { printer->begin(columns); },
                    [&](std::span<const traces::Cell> cells) {
                      printer->row(cells);
                      return std::cout.good();
                    }},
                   most);
  printer->end();
  for (const auto& problem : trace->problems()) std::cerr << "note: " << problem << "\n";
}

}  // namespace

void defineQuery(CLI::App& command, int&) {
  auto o = std::make_shared<Options>();
  command.add_option("TRACE", o->trace, "A recording of any format that info can open");
  auto* sql = command.add_option(
      "SQL", o->sql, "One SELECT over events, hops, tensors, memory, shards, diffs and findings");
  command.add_option("--named", o->named, "One of the named queries instead")->excludes(sql);
  command.add_flag("--list", o->list, "Print the tables with their columns, and the named queries");
  auto* json = command.add_flag("--json", o->json, "Print a list of objects, one a row");
  command.add_flag("--csv", o->csv, "Print as CSV (RFC 4180)")->excludes(json);
  command.add_option("--seconds", o->seconds, "How long it may take at most")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  command.callback([=] { run(*o); });
}

}  // namespace ringscope::app
