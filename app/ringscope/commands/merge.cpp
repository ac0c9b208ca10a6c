// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/command_line/command.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/utf8.h"
#include "traces/format/join/join_files.h"

namespace ringscope::app {

void defineMerge(CLI::App& command, int&) {
  auto inputs = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command.add_option("TRACE", *inputs, "The .rscope files of one run")->required();
  command.add_option("-o,--output", *output, "The joined .rscope file")->required();
  command.add_flag("--json", *json, "Print as JSON");
  command.callback([=] {
    const bool exact = traces::joinFiles(*inputs, *output) == traces::ClockAlignment::kSteadyClock;
    if (*json)
      std::cout << nlohmann::json({{"trace", traces::toUtf8(*output)},
                                   {"files", inputs->size()},
                                   {"clock", exact ? "steady" : "wall"}})
                       .dump(2)
                << "\n";
    else
      std::cout << traces::describeCount(static_cast<std::int64_t>(inputs->size()), "file")
                << " joined, times aligned by "
                << (exact ? "the machine's steady clock" : "the machines' wall clocks") << ": "
                << *output << "\n";
  });
}

}  // namespace ringscope::app
