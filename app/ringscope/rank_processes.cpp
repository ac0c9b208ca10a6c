// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/rank_processes.h"

#include <arpa/inet.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "traces/core/error.h"

namespace ringscope::app {
namespace {

/// A port that nobody listens on now.
int freePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool fine = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!fine) throw runFailed("no free port for the ranks to meet at");
  return ntohs(address.sin_port);
}

/// This process's own arguments with the launch replaced; the last one wins.
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

[[noreturn]] void becomeRank(int rank, int ranks, int port, std::vector<std::string> arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(127);
}

std::string describeEnd(int status) {
  if (WIFSIGNALED(status)) return std::string("killed by ") + ::strsignal(WTERMSIG(status));
  return "ended with code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

int runRankProcesses(int ranks) {
  const int port = freePort();
  const auto arguments = ownArguments();
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) becomeRank(rank, ranks, port, arguments);
    if (child < 0) throw runFailed("rank " + std::to_string(rank) + " could not be started");
    children.push_back(child);
  }
  int code = 0;
  std::string failure;
  for (std::size_t left = children.size(); left > 0; --left) {
    int status = 0;
    const pid_t ended = ::wait(&status);
    const auto rank = std::find(children.begin(), children.end(), ended) - children.begin();
    const bool answered = WIFEXITED(status) && WEXITSTATUS(status) <= 2;
    if (rank == 0 && answered) code = WEXITSTATUS(status);
    if (answered || !failure.empty()) continue;
    failure = "rank " + std::to_string(rank) + " was lost: " + describeEnd(status);
    for (const pid_t child : children)
      if (child != ended) ::kill(child, SIGKILL);
  }
  if (!failure.empty()) throw runFailed(failure);
  return code;
}

}  // namespace ringscope::app
