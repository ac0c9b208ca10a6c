// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/command_line/command.h"
#include "traces/doctor/diagnosis.h"

namespace ringscope::app {
namespace {

int run(const std::string& path, bool json) {
  const auto trace = traces::openTrace(path);
  trace->readEvents();  // all damage is told
  for (const auto& problem : trace->problems()) std::cerr << "note: " << problem << "\n";
  const auto diagnosis = traces::diagnose(*trace);
  std::cout << (json ? traces::toJson(diagnosis).dump(2) + "\n" : traces::toText(diagnosis));
  return diagnosis.findings().empty() ? kSuccess : kAnswerIsNo;
}

}  // namespace

void defineDoctor(CLI::App& command, int& exit_code) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.add_option("TRACE", *path, "A .rscope file")->required();
  command.add_flag("--json", *json, "Print as JSON");
  command.callback([=, &exit_code] { exit_code = run(*path, *json); });
}

}  // namespace ringscope::app
