// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/command_line/command.h"
#include "app/ringscope/mcp/allowed_files.h"
#include "app/ringscope/mcp/server.h"

namespace ringscope::app {

void defineMcp(CLI::App& command, int&) {
  auto folders = std::make_shared<std::vector<std::string>>();
  command
      .add_option("FOLDER", *folders,
                  "Folders with recordings. The tools read no file outside of them")
      ->required();
  command.callback([=] {
    const AllowedFiles files(*folders);
#ifdef SIGPIPE
    std::signal(SIGPIPE, SIG_IGN);  // a client that leaves is the end of the input, not a crash
#endif
    serve(std::cin, std::cout, files);
  });
}

}  // namespace ringscope::app
