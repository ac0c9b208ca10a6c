// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"

namespace ringscope::test {

/// A child process with pipes on its standard input and output.
class Child {
 public:
  /// Starts `program`. Standard error goes into the file `errors`. `prepare` is called in the child
  /// before it becomes the program.
  explicit Child(
      const std::vector<std::string>& arguments, const std::string& errors = "/dev/null",
      const std::function<void()>& prepare = [] {}, const char* program = test::kProgram) {
    int in[2], out[2];
    EXPECT_EQ(pipe(in) + pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      dup2(open(errors.c_str(), O_WRONLY | O_CREAT, 0600), 2);
      for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      std::vector<char*> argv{const_cast<char*>(program)};
      for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      prepare();
      execv(program, argv.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input = in[1];
    output = out[0];
  }
  ~Child() {
    kill(pid_, SIGKILL);
    wait();
    if (output >= 0) close(output);
    if (input >= 0) close(input);
  }
  void signal(int number) const { kill(pid_, number); }
  pid_t pid() const { return pid_; }
  bool isRunning() const {
    siginfo_t info{};
    return !waited_ &&
           waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
  }
  /// Returns the processes that it has started, in the order of their start.
  std::vector<pid_t> children() const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) +
                     "/children");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; in >> pid;) pids.push_back(pid);
    return pids;
  }
  int wait() {
    if (!waited_) waitpid(pid_, &status_, 0);
    waited_ = true;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
  }
  /// Waits for the child, at most until the deadline; then returns −SIGALRM, so that a hanging
  /// program fails the test.
  int waitAtMost(std::chrono::seconds deadline) {
    const bool ended = eventually(
        [this] { return waited_ || (waited_ = waitpid(pid_, &status_, WNOHANG) == pid_); },
        deadline);
    return ended ? wait() : -SIGALRM;
  }
  int input = -1, output = -1;

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool waited_ = false;
};

inline std::vector<std::string> longRun(const std::string& trace) {
  return {"train",     "--text", sampleText(), "--steps", "100000",
          "--seq-len", "64",     "--trace",    trace};
}

/// Returns the arguments of a long run that uses the control connection.
inline std::vector<std::string> controlledRun(const std::string& trace, const std::string& launch,
                                              const std::string& control = "stdio") {
  auto arguments = longRun(trace);
  arguments.insert(arguments.end(), {"--control", control, "--launch", launch});
  return arguments;
}

inline void waitForEvents(const std::string& trace) {
  ASSERT_TRUE(eventually([&] {
    try {
      return traces::openTrace(trace)->eventCount() > 200;
    } catch (const Error&) {  // the file does not exist yet
      return false;
    }
  })) << "nothing was recorded";
}

}  // namespace ringscope::test
