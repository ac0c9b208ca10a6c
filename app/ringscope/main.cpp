// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "app/command_line/command_list.h"
#include "app/command_line/program.h"
#include "app/ringscope/become.h"
#include "traces/format/core/error.h"

namespace ringscope::app {

RINGSCOPE_READING_COMMANDS(RINGSCOPE_DECLARE_COMMAND)

namespace {

/// Defines no options: ringscope only knows the name and the help line of an engine command. main()
/// hands the whole command line over to the engine before it is parsed.
void defineEngineCommand(CLI::App&, int&) {}

#define RINGSCOPE_ENGINE_ENTRY(Name, name, description) {name, description, defineEngineCommand},
constexpr Command kCommands[] = {RINGSCOPE_ENGINE_COMMANDS(RINGSCOPE_ENGINE_ENTRY)
                                     RINGSCOPE_READING_COMMANDS(RINGSCOPE_COMMAND_ENTRY)};
#undef RINGSCOPE_ENGINE_ENTRY

bool needsEngine(std::string_view word) {
  return std::any_of(std::begin(kCommands), std::end(kCommands), [&](const Command& command) {
    return command.define == defineEngineCommand && word == command.name;
  });
}

}  // namespace
}  // namespace ringscope::app

int main(int argc, char** argv) {
  using namespace ringscope;
  if (argc > 1 && app::needsEngine(argv[1])) {
    try {
      app::becomeEngine(argv);
    } catch (const Error& error) {
      return app::report(error);
    }
  }
  return app::runProgram(argc, argv, app::kCommands);
}
