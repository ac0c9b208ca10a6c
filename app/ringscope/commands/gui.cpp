// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>

#include "app/ringscope/commands/command.h"
#include "traces/core/error.h"
#include "traces/core/resources.h"

namespace ringscope::app {
namespace {

void start(const std::string& trace) {
  const std::string program = traces::executableFolder() + "/ringscope-gui";
  if (!std::filesystem::exists(program))
    throw usageError(
        "the window is not installed beside this program; build it with -DRINGSCOPE_GUI=ON");
  if (trace.empty())
    ::execl(program.c_str(), program.c_str(), nullptr);
  else
    ::execl(program.c_str(), program.c_str(), trace.c_str(), nullptr);
  throw runFailed(program + " could not be started");
}

}  // namespace

void addGui(CLI::App& app, int&) {
  auto* command = app.add_subcommand("gui", "Start the window");
  auto trace = std::make_shared<std::string>();
  command->add_option("TRACE", *trace,
                      "A .rscope file; without it, a live run of the sample model");
  command->callback([trace] { start(*trace); });
}

}  // namespace ringscope::app
