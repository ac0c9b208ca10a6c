// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line/command.h"
#include "traces/analysis/report/summary.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/trace/hang.h"
#include "traces/format/trace/imported.h"
#include "traces/format/trace/lacks.h"
#include "traces/format/trace/observed_model.h"
#include "traces/format/trace/trace.h"

namespace ringscope::app {
namespace {

/// Prints how an imported recording was made from another tool's files, and what it lacks.
void printImported(const traces::Trace& trace) {
  const auto imported = traces::importedFrom(trace);
  if (!imported) return;
  std::cout << traces::describe(*imported) << "\n";
  for (const std::string& stands : imported->standing) std::cout << stands << "\n";
  for (const std::string& lack : imported->lacks) std::cout << "note: " << lack << "\n";
}

}  // namespace

void defineInfo(CLI::App& command, int&) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false), check = std::make_shared<bool>(false);
  command.add_option("TRACE", *path, "A .rscope file")->required();
  command.add_flag("--json", *json, "Print as JSON");
  command.add_flag("--check", *check,
                   "Decode all events and list all damage. Without this option, events are counted "
                   "by the file's index");
  command.callback([=] {
    const auto trace = traces::openTrace(*path);
    if (*check) trace->readEvents();  // counts what is present, not what the index says
    const auto info = traces::summarize(*trace, *path);
    if (*json) {
      std::cout << info.dump(2) << "\n";
      return;
    }
    for (const std::string& line : traces::summaryLines(*trace, info)) std::cout << line << "\n";
    printImported(*trace);
    if (const std::string unwatched = traces::describeUnwatched(*trace); !unwatched.empty())
      std::cout << "note: " << unwatched << "\n";
    for (const traces::Hang& hang : traces::findHangs(*trace))
      std::cout << "hang: " << traces::describe(hang) << "\n";
  });
}

}  // namespace ringscope::app
