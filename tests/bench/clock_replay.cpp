// SPDX-License-Identifier: Apache-2.0
// The time that the own-device clock needs to replay 1,024 ranks over 100 training steps.
#include <chrono>
#include <cstdio>
#include <ctime>

#include "tests/support/clock_cases.h"
#include "tests/support/many_ranks.h"

int main() {
  using namespace ringscope;
  const auto of = test::clockCase(8);
  const auto program =
      test::repeatProgram(traces::plannedProgram(of.run, of.sizes, of.device), 128, 100);
  std::size_t ops = 0, events = 0;
  for (const auto& rank : program.ranks) {
    ops += rank.ops.size();
    events += rank.events.size();
  }
  for (int round = 0; round < 5; ++round) {
    const auto began = std::chrono::steady_clock::now();
    const std::clock_t worked_from = std::clock();
    const auto timeline = traces::replay(program, of.hardware);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const double worked = static_cast<double>(std::clock() - worked_from) / CLOCKS_PER_SEC;
    std::printf("%zu ranks, %zu steps, %zu ops, %zu events, %zu messages: %.2f s, CPU %.2f s\n",
                program.ranks.size(), timeline.step_end_ns.size(), ops, events,
                program.messages.size(), took.count(), worked);
  }
  return 0;
}
