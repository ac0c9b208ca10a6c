// SPDX-License-Identifier: Apache-2.0
// The program of the commands that need LibTorch. ringscope becomes this program for them, so users
// rarely start it by its own name.
#include "app/command_line/command_list.h"
#include "app/command_line/program.h"

namespace ringscope::app {

RINGSCOPE_ENGINE_COMMANDS(RINGSCOPE_DECLARE_COMMAND)

}  // namespace ringscope::app

int main(int argc, char** argv) {
  using namespace ringscope::app;
  constexpr Command kCommands[] = {RINGSCOPE_ENGINE_COMMANDS(RINGSCOPE_COMMAND_ENTRY)};
  return runProgram(argc, argv, kCommands);
}
