// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope-engine/rank_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "app/command_line/command.h"
#include "app/ringscope-engine/recording.h"
#include "engine/launch/rank_supervisor.h"
#include "traces/format/core/error.h"

namespace ringscope::app {
namespace {

/// Returns the arguments of this process with `--launch processes` replaced by `--launch env`.
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

/// Blocks SIGINT and SIGTERM in this thread and in threads that it starts later. The supervisor
/// takes both signals.
void blockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

/// Replaces the standard input of this process by /dev/null, because the supervisor reads it.
void closeInput() {
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::close(nothing);
}

/// Reports whether SIGINT or SIGTERM is pending, which superviseRanks() will take.
bool isToldToStop() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

}  // namespace

int runRankProcesses(const RankProcesses& run) {
  blockStopSignals();
  engine::Gate gate(run.ranks, engine::SharedMemory(engine::Gate::bytesFor(run.ranks)));
  CollectedRecording recording(run.ranks, run.trace, run.control, gate);
  recording.seal(run.sealed);
  while (run.held && !recording.mayStart()) {
    if (isToldToStop()) {
      recording.finish("", true);
      return kSuccess;
    }
    std::this_thread::sleep_for(kHeldFor);
  }
  engine::RankLaunch launch{run.ranks, ownArguments(), run.deadline, {}, {}};
  launch.in_child = [&](traces::WorldRank rank) {
    ::setenv(engine::Gate::kVariable, std::to_string(gate.descriptor()).c_str(), 1);
    if (recording.hub()) recording.hub()->prepareChild(rank);
    if (run.control) closeInput();
  };
  launch.started = [&] {
    if (recording.hub()) recording.hub()->childrenStarted();
  };
  try {
    const int code = engine::superviseRanks(launch);
    recording.finish("", gate.stopRequested());
    return code;
  } catch (const Error& error) {
    recording.finish(error.what(), false);
    throw;
  }
}

}  // namespace ringscope::app
