// SPDX-License-Identifier: Apache-2.0
#include "app/command_line/command.h"
#include "app/ringscope/become.h"

namespace ringscope::app {
void defineGui(CLI::App& command, int&) {
  auto trace = std::make_shared<std::string>();
  command.add_option("TRACE", *trace, "A .rscope file; without it, a live run of the sample model");
  command.callback(
      [trace] { becomeWindow(trace->empty() ? std::vector<std::string>{} : std::vector{*trace}); });
}

}  // namespace ringscope::app
