// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/rank_processes.h"

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/launch/rank_supervisor.h"

namespace ringscope::app {
namespace {

/// This process's own arguments with the launch replaced.
std::vector<std::string> ownArguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size(); at += arguments.back().size() + 1)
    arguments.emplace_back(text.c_str() + at);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--launch=processes") arguments[i] = "--launch=env";
    if (arguments[i] == "--launch" && i + 1 < arguments.size()) arguments[i + 1] = "env";
  }
  return arguments;
}

}  // namespace

int runRankProcesses(int ranks, std::chrono::milliseconds deadline) {
  return engine::superviseRanks({ranks, ownArguments(), deadline, {}});
}

}  // namespace ringscope::app
