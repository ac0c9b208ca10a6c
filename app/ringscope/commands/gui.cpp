// SPDX-License-Identifier: Apache-2.0
#include "app/command_line/command.h"
#include "app/ringscope/become.h"

namespace ringscope::app {
void defineGui(CLI::App& command, int&) {
  struct Options {
    std::string trace, folder;
    bool listen = false;
  };
  auto options = std::make_shared<Options>();
  command.add_option(
      "TRACE", options->trace,
      "A recording; without it, a live run of the sample model. With --listen: where "
      "to listen, a path for a Unix socket or 127.0.0.1:PORT");
  auto* listen = command.add_flag("--listen", options->listen,
                                  "Follow a PyTorch job that records itself with RINGSCOPE_LIVE");
  command
      .add_option("-o,--output", options->folder,
                  "With --listen: the folder that gets the job's recording; without it, it is the "
                  "window's own and emptied by the next")
      ->needs(listen);
  command.callback([options] {
    std::vector<std::string> arguments;
    if (options->listen) arguments.emplace_back("--listen");
    if (!options->folder.empty()) arguments.insert(arguments.end(), {"-o", options->folder});
    if (!options->trace.empty()) arguments.push_back(options->trace);
    becomeWindow(arguments);
  });
}

}  // namespace ringscope::app
