// SPDX-License-Identifier: Apache-2.0
#include "app/ringscope/mcp/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "traces/format/core/error.h"

namespace ringscope::app {
namespace {

using Clock = std::chrono::steady_clock;

/// A pipe whose ends are closed with it. The child gets copies of them through its file actions.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw runFailed(std::string("no pipe can be made: ") + std::strerror(errno));
  }
  ~Pipe() {
    closeWriter();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void closeWriter() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

pid_t start(const std::vector<std::string>& command, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.writer(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err.writer(), STDERR_FILENO);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw runFailed(command.front() + " could not be started: " + std::strerror(failed));
  return pid;
}

/// Reads what is there, and keeps at most `most` bytes in `text`. Returns the number of bytes read;
/// 0 at the end of the stream.
std::size_t take(int fd, std::string& text, std::size_t most) {
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(fd, buffer.data(), buffer.size());
  if (count <= 0) return 0;
  const auto bytes = static_cast<std::size_t>(count);
  text.append(buffer.data(), std::min(bytes, most - std::min(most, text.size())));
  return bytes;
}

/// Reads both streams until the child closes them. Returns false when the time is over.
bool readAll(const Pipe& out, const Pipe& err, const ChildLimits& limits, ChildResult& result) {
  const Clock::time_point end = Clock::now() + limits.time;
  std::array<pollfd, 2> streams{{{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    if (::poll(streams.data(), streams.size(), static_cast<int>(left.count())) < 0) continue;
    if (streams[0].revents != 0) {
      const std::size_t bytes = take(streams[0].fd, result.out, limits.bytes);
      result.out_bytes += bytes;
      if (bytes == 0) streams[0].fd = -1;  // poll() ignores it
    }
    if (streams[1].revents != 0 && take(streams[1].fd, result.err, limits.bytes) == 0)
      streams[1].fd = -1;
  }
  return true;
}

}  // namespace

ChildResult runChild(const std::vector<std::string>& command, const ChildLimits& limits) {
  Pipe out, err;
  const pid_t pid = start(command, out, err);
  out.closeWriter();
  err.closeWriter();
  ChildResult result;
  result.timed_out = !readAll(out, err, limits, result);
  if (result.timed_out) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace ringscope::app
