// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "traces/exchange/export/format.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {
namespace {

struct ExportOptions {
  std::string trace, to, output;
  bool json = false;
};

std::string formatsHelp() {
  std::string text = "What to write:";
  for (const auto& format : traces::exportFormats())
    text += std::string("\n") + format.name + ": " + format.says;
  return text;
}

void run(const ExportOptions& o) {
  const auto exported = traces::exportTrace(o.trace, o.to, o.output);
  if (o.json) {
    nlohmann::json json = {{"file", traces::toUtf8(o.output)}, {"left_out", exported.left_out}};
    for (const auto& [what, count] : exported.counts) json["counts"][what] = count;
    std::cout << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
    return;
  }
  for (const std::string& sentence : exported.left_out) std::cerr << "note: " << sentence << "\n";
  std::string said;
  for (const auto& [what, count] : exported.counts)
    said += (said.empty() ? "" : ", ") + traces::describeCount(count) + " " + what;
  std::cout << "exported: " << o.output << ", " << said << "\n";
}

}  // namespace

void defineExport(CLI::App& command, int&) {
  auto o = std::make_shared<ExportOptions>();
  command.add_option("TRACE", o->trace, "A recording of any format that info can open")->required();
  command.add_option("--to", o->to, formatsHelp())->required()->type_name("FORMAT");
  command.add_option("-o,--output", o->output, "The file to write")->required();
  command.add_flag("--json", o->json, "Print what was written as JSON");
  command.callback([=] { run(*o); });
}

}  // namespace ringscope::app
