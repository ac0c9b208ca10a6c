// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "app/command_line/command.h"
#include "traces/exchange/import/format.h"
#include "traces/exchange/remote/recording_server.h"
#include "traces/exchange/remote/remote_address.h"
#include "traces/format/core/error.h"

namespace ringscope::app {
namespace {

/// Returns a private duplicate of standard output, and lets standard output lead to standard error:
/// libraries may print, and must not print between messages.
int takeOutput() {
  const int output = ::dup(STDOUT_FILENO);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw runFailed(std::string("standard output cannot be used: ") + std::strerror(errno));
  return output;
}

std::size_t readInput(std::span<char> buffer) {
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

}  // namespace

void defineServe(CLI::App& command, int&) {
  auto path = std::make_shared<std::string>();
  command
      .add_option("TRACE", *path,
                  "A recording of any format. It is read only; a reader opens it as "
                  "ssh://HOST/PATH, and starts this command there")
      ->required();
  command.callback([path] {
    if (::isatty(STDOUT_FILENO))
      throw usageError(
          "serve answers a program, not a terminal; open ssh://HOST/PATH on the other machine");
    if (traces::isRemoteAddress(*path))
      throw usageError("serve reads recordings of this machine only; give a path");
    traces::serveRecording({[&] { return traces::openSource(*path); },
                            [&] { return traces::sizeOfRecording(*path); }, RINGSCOPE_VERSION},
                           readInput, takeOutput());
  });
}

}  // namespace ringscope::app
