// SPDX-License-Identifier: Apache-2.0
#include "app/command_line/program.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <string_view>

#include "app/command_line/last_border.h"
#include "app/version/version.h"
#include "traces/format/core/sentence_of.h"
#include "traces/format/core/utf8.h"

namespace ringscope::app {

int report(const Error& error) {
  std::cerr << "ringscope: " << traces::toPlainText(error.what()) << "\n";
  return error.code() == ErrorCode::kRunFailed ? kRunFailed : kUsageOrInput;
}

namespace {

/// Throws usageError for a command that does not exist, because CLI11 then only says that a command
/// is required.
void refuseUnknown(std::string_view word, std::span<const Command> commands) {
  const bool known = std::any_of(commands.begin(), commands.end(),
                                 [word](const Command& c) { return word == c.name; });
  if (!known && !word.starts_with('-'))
    throw usageError("there is no command '" + std::string(word) + "'; see ringscope --help");
}

int runCommands(int argc, char** argv, std::span<const Command> commands) {
  CLI::App cli("RingScope: run, record and debug context-parallel training", "ringscope");
  cli.require_subcommand(1);
  cli.set_version_flag("--version", "ringscope " + describeVersion());
  int exit_code = kSuccess;
  for (const Command& command : commands)
    command.define(*cli.add_subcommand(command.name, command.description), exit_code);
  try {
    if (argc > 1) refuseUnknown(argv[1], commands);
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return cli.exit(error);  // --help, --version
    return report(usageError(error.what()));
  } catch (const Error& error) {
    return report(error);
  } catch (const std::exception& error) {
    std::cerr << "ringscope: " << traces::toSentence(error) << "\n";
    return failureCode();
  }
  return exit_code;
}

}  // namespace

int runProgram(int argc, char** argv, std::span<const Command> commands) {
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then a failed write, not a killed
                                  // process
#endif
  guardEnds();
  const int exit_code = runCommands(argc, argv, commands);
  returnsByItself();
  return exit_code;
}

}  // namespace ringscope::app
