// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/free_port.h"

namespace ringscope::test {

/// Runs this test program once per rank with another filter, in an environment like torchrun's plus
/// what `more` adds for a rank. Returns the exit statuses of waitpid.
inline std::vector<int> runAsRanks(int ranks, const std::string& filter,
                                   const std::function<void(int rank)>& more = {}) {
  const std::string port = std::to_string(freePort());
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setenv("RANK", std::to_string(rank).c_str(), 1);
      ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      ::setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
      ::setenv("MASTER_ADDR", "127.0.0.1", 1);
      ::setenv("MASTER_PORT", port.c_str(), 1);
      if (more) more(rank);
      const std::string argument = "--gtest_filter=" + filter;
      ::execl("/proc/self/exe", "rank", argument.c_str(), "--gtest_brief=1", nullptr);
      ::_exit(127);
    }
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    statuses.push_back(status);
  }
  return statuses;
}

}  // namespace ringscope::test
