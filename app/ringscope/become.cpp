// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/become.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "traces/format/core/error.h"
#include "traces/format/core/prose.h"
#include "traces/format/core/resources.h"

extern "C" char** environ;  // not declared by the headers of macOS

namespace ringscope::app {
namespace {

[[noreturn]] void become(const std::string& program, char* const* argv) {
  ::execv(program.c_str(), argv);
  throw runFailed(program + " could not be started: " + std::strerror(errno));
}

/// Reports whether `program --version` succeeds. Discards its output.
bool loads(const std::string& program) {
  posix_spawn_file_actions_t silent;
  ::posix_spawn_file_actions_init(&silent);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&silent, fd, "/dev/null", O_WRONLY, 0);
  std::string name = program, version = "--version";
  char* const arguments[] = {name.data(), version.data(), nullptr};
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.c_str(), &silent, nullptr, arguments, ::environ);
  ::posix_spawn_file_actions_destroy(&silent);
  int status = -1;
  if (failed != 0 || ::waitpid(pid, &status, 0) != pid) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Throws usageError if a memory limit is too small for LibTorch. Without this check, the dynamic
/// loader fails with its own message and exit code.
void checkThatItLoads(const std::string& program) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || loads(program))
    return;
  throw usageError("the engine does not fit into " +
                   traces::describeBytes(static_cast<std::int64_t>(limit.rlim_cur)) +
                   " of memory, which ulimit -v allows; allow more");
}

}  // namespace

void becomeEngine(char** argv) {
  const std::string program = traces::programBeside("ringscope-engine");
  if (program.empty())
    throw usageError(std::string("'") + argv[1] +
                     "' needs the engine, which is not installed beside this program; build it "
                     "with -DRINGSCOPE_ENGINE=ON, as scripts/run does");
  checkThatItLoads(program);
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
