// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "traces/core/prose.h"
#include "traces/core/utf8.h"
#include "traces/import/write_trace.h"

namespace ringscope::app {

void defineImport(CLI::App& command, int&) {
  auto input = std::make_shared<std::string>();
  auto output = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.add_option("RECORDING", *input, "A folder that the Python recorder wrote")->required();
  command.add_option("-o,--output", *output, "The .rscope file to write")->required();
  command.add_flag("--json", *json, "Print as JSON");
  command.callback([=] {
    const auto problems = traces::writeTrace(*input, *output);
    if (*json) {
      std::cout
          << nlohmann::json({{"trace", traces::toUtf8(*output)}, {"problems", problems}}).dump(2)
          << "\n";
      return;
    }
    for (const std::string& problem : problems) std::cout << problem << "\n";
    std::cout << "imported: " << *output << "\n";
  });
}

}  // namespace ringscope::app
