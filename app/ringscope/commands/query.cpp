// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/sql/query.h"

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <limits>

#include "app/command_line/command.h"
#include "app/command_line/table_printer.h"
#include "traces/analysis/sql/description.h"
#include "traces/analysis/sql/named_queries.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/lacks.h"

namespace ringscope::app {
namespace {

struct QueryOptions {
  std::string trace, sql, named;
  bool json = false, csv = false, list = false;
  double seconds = 60;
  std::int64_t most_rows = traces::QueryBounds().rows;
};

volatile std::sig_atomic_t interrupted = 0;

/// A progress line on a terminal, updated twice a second while a query returns no rows.
class Progress {
 public:
  void row() {
    ++rows_;
    clear();
    shown_ = Clock::now();
  }
  void show() {
    if (!on_terminal_ || Clock::now() - shown_ < std::chrono::milliseconds(500)) return;
    shown_ = Clock::now();
    const double seconds = std::chrono::duration<double>(shown_ - began_).count();
    std::cerr << "\r" << traces::describeCount(rows_, "row") << " after "
              << traces::describeSeconds(seconds) << ", Ctrl-C ends the query " << std::flush;
    is_shown_ = true;
  }
  void clear() {
    if (is_shown_) std::cerr << "\r\x1b[K" << std::flush;
    is_shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool on_terminal_ = isatty(STDERR_FILENO) != 0;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = began_;
  std::int64_t rows_ = 0;
  bool is_shown_ = false;
};

std::string sqlOf(const QueryOptions& o) {
  if (o.sql.empty() == o.named.empty())
    throw usageError("a query is 'SELECT …' or --named NAME; --list says what there is to ask");
  return o.named.empty() ? o.sql : traces::namedQuery(o.named).sql;
}

int run(const QueryOptions& o) {
  if (o.list) {
    std::cout << traces::describeTables();
    return kSuccess;
  }
  if (o.trace.empty()) throw usageError("TRACE is required");
  const std::string sql = sqlOf(o);
  const auto trace = traces::openTrace(o.trace);
  const auto printer = makeTablePrinter(o.json  ? TableForm::kJson
                                        : o.csv ? TableForm::kCsv
                                                : TableForm::kText,
                                        std::cout);
  const traces::QueryBounds bounds{
      std::chrono::milliseconds(static_cast<std::int64_t>(o.seconds * 1000)), o.most_rows};
  Progress progress;
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const traces::QueryEnd end =
      traces::runQuery(*trace, sql,
                       {[&](const std::vector<std::string>& columns) { printer->begin(columns); },
                        [&](std::span<const traces::Cell> cells) {
                          progress.row();
                          printer->row(cells);
                          return std::cout.good();
                        },
                        [&] {
                          progress.show();
                          return interrupted != 0;
                        }},
                       bounds);
  progress.clear();
  printer->end();  // the printed rows form a whole table, whatever ended the query
  std::cout.flush();
  for (const auto& remark : traces::listRemarks(*trace)) std::cerr << "note: " << remark << "\n";
  const std::string why = traces::describe(end, bounds);
  if (!why.empty()) throw usageError(why);
  return kSuccess;
}

}  // namespace

void defineQuery(CLI::App& command, int& exit_code) {
  auto o = std::make_shared<QueryOptions>();
  command.add_option("TRACE", o->trace, "A recording of any format that info can open");
  auto* sql = command.add_option(
      "SQL", o->sql,
      "One SELECT over events, hops, tensors, memory, shards, diffs, findings and tokens");
  command.add_option("--named", o->named, "Run this named query instead of SQL")->excludes(sql);
  command.add_flag("--list", o->list, "List the tables with their columns, and the named queries");
  auto* json = command.add_flag("--json", o->json, "Print a JSON list with one object per row");
  command.add_flag("--csv", o->csv, "Print as CSV (RFC 4180)")->excludes(json);
  command
      .add_option("--timeout,--seconds", o->seconds,
                  "Stop the query after this number of seconds, and print the rows found so far")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  command.add_option("--max-rows", o->most_rows, "Stop the query after this number of rows")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("INT")
      ->capture_default_str();
  command.callback([=, &exit_code] { exit_code = run(*o); });
}

}  // namespace ringscope::app
