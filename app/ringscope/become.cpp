// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/become.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "traces/core/error.h"
#include "traces/core/resources.h"

namespace ringscope::app {
namespace {

[[noreturn]] void become(const std::string& program, char* const* argv) {
  ::execv(program.c_str(), argv);
  throw runFailed(program + " could not be started: " + std::strerror(errno));
}

}  // namespace

void becomeEngine(char** argv) {
  const std::string program = traces::programBeside("ringscope-engine");
  if (program.empty())
    throw usageError(std::string("'") + argv[1] +
                     "' needs the engine, which is not installed beside this program; build it "
                     "with -DRINGSCOPE_ENGINE=ON, as scripts/run does");
  become(program, argv);
}

void becomeWindow(const std::vector<std::string>& arguments) {
  const std::string program = traces::programBeside("ringscope-gui");
  if (program.empty())
    throw usageError(
        "the window is not installed beside this program; build it with -DRINGSCOPE_GUI=ON");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  become(program, argv.data());
}

}  // namespace ringscope::app
