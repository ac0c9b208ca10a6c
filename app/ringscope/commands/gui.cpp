// SPDX-License-Identifier: Apache-2.0
#include "app/command_line/command.h"
#include "app/ringscope/become.h"

namespace ringscope::app {
void defineGui(CLI::App& command, int&) {
  struct Options {
    std::string trace, folder, against, floor;
    bool listen = false, sample = false;
  };
  auto options = std::make_shared<Options>();
  auto* trace = command.add_option("TRACE", options->trace,
                                   "A recording (default: the start page). With --listen: the "
                                   "path of a Unix socket or 127.0.0.1:PORT");
  auto* listen = command.add_flag("--listen", options->listen,
                                  "Follow a PyTorch job that records itself with RINGSCOPE_LIVE");
  command.add_flag("--sample", options->sample, "Start a live run of the sample model")
      ->excludes(listen)
      ->excludes(trace);
  command
      .add_option("-o,--output", options->folder,
                  "With --listen: the folder for the job's recording (default: a new folder in the "
                  "window's folder of runs)")
      ->needs(listen);
  auto* against =
      command.add_option("--against", options->against, "A second recording, for the Compare view")
          ->type_name("TRACE2")
          ->excludes(listen);
  command
      .add_option("--floor", options->floor,
                  "A second recording of the run of --against. It shows how far equal runs differ")
      ->type_name("TRACE3")
      ->needs(against);
  command.callback([options] {
    std::vector<std::string> arguments;
    if (options->listen) arguments.emplace_back("--listen");
    if (options->sample) arguments.emplace_back("--sample");
    if (!options->folder.empty()) arguments.insert(arguments.end(), {"-o", options->folder});
    for (const auto& [option, file] :
         {std::pair("--against", options->against), {"--floor", options->floor}})
      if (!file.empty()) arguments.insert(arguments.end(), {option, file});
    if (!options->trace.empty()) arguments.push_back(options->trace);
    becomeWindow(arguments);
  });
}

}  // namespace ringscope::app
