// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "app/ringscope/commands/command.h"
#include "traces/core/error.h"

namespace {

using namespace ringscope;

int exitCodeOf(const Error& error) {
  return error.code() == ErrorCode::kRunFailed ? app::kRunFailed : app::kUsageOrInput;
}

void addCommands(CLI::App& cli, int& exit_code) {
#ifdef RINGSCOPE_WITH_ENGINE
  app::addTrain(cli, exit_code);
  app::addAttend(cli, exit_code);
  app::addBench(cli, exit_code);
#endif
  app::addDiff(cli, exit_code);
  app::addDoctor(cli, exit_code);
  app::addMistakes(cli, exit_code);
  app::addInfo(cli, exit_code);
  app::addMerge(cli, exit_code);
  app::addGui(cli, exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App cli("RingScope: run, record and debug context-parallel training", "ringscope");
  cli.require_subcommand(1);
  cli.set_version_flag("--version", "ringscope " RINGSCOPE_VERSION);
  int exit_code = app::kSuccess;
  addCommands(cli, exit_code);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return cli.exit(error);  // --help, --version
    std::cerr << "ringscope: " << error.what() << "\n";
    return app::kUsageOrInput;
  } catch (const Error& error) {
    std::cerr << "ringscope: " << error.what() << "\n";
    return exitCodeOf(error);
  } catch (const std::exception& error) {
    std::cerr << "ringscope: " << error.what() << "\n";
    return app::kRunFailed;
  }
  return exit_code;
}
