// SPDX-License-Identifier: Apache-2.0
#include "traces/format/core/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "traces/format/core/error.h"

extern "C" char** environ;  // not declared by the headers of macOS

namespace ringscope::traces {
namespace {

/// Two connected descriptors, which are closed with it.
class Ends {
 public:
  Ends() = default;
  ~Ends() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  void makePipe() {
#ifdef __APPLE__
    check(::pipe(ends_.data()));
    keepFromChildren();
#else
    check(::pipe2(ends_.data(), O_CLOEXEC));
#endif
  }
  /// Makes a pair of sockets. Unlike a pipe, a socket without a reader can be written to without a
  /// signal.
  void makeSockets() {
#ifdef __APPLE__
    check(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()));
    keepFromChildren();
#else
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()));
#endif
  }
  int operator[](std::size_t end) const {
    return ends_[end];
  }
  int take(std::size_t end) {
    return std::exchange(ends_[end], -1);
  }

 private:
  static void check(int result) {
    if (result != 0) throw runFailed(std::string("no pipe can be made: ") + std::strerror(errno));
  }
#ifdef __APPLE__
  void keepFromChildren() const {
    for (const int end : ends_) check(::fcntl(end, F_SETFD, FD_CLOEXEC));
  }
#endif

  std::array<int, 2> ends_{-1, -1};
};

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, Input input) {
  Ends in, out, err;
  out.makePipe();
  err.makePipe();
  if (input == Input::kConnected) in.makeSockets();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (input == Input::kConnected)
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  else
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int failed = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw runFailed(command.front() + " could not be started: " + std::strerror(failed));
  in_ = in.take(1);
  out_ = out.take(0);
  err_ = err.take(0);
}

ChildProcess::~ChildProcess() {
  closeInput();
  if (pid_ > 0) {
    kill();
    wait();
  }
  ::close(out_);
  ::close(err_);
}

bool ChildProcess::appendErrors(std::string& errors) {
  std::array<char, 4096> buffer;
  const ssize_t count = ::read(err_, buffer.data(), buffer.size());
  if (count <= 0) return false;
  errors.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

ChildProcess::Came ChildProcess::read(std::chrono::milliseconds most, std::string& output,
                                      std::string& errors) {
  std::array<pollfd, 2> streams{{{out_, POLLIN, 0}, {errors_end_ ? -1 : err_, POLLIN, 0}}};
  int ready = 0;
  while ((ready = ::poll(streams.data(), streams.size(), static_cast<int>(most.count()))) < 0 &&
         errno == EINTR) {
  }
  if (ready == 0) return Came::kNothing;
  if (streams[1].revents != 0 && !appendErrors(errors)) errors_end_ = true;
  if (streams[0].revents == 0) return Came::kBytes;
  std::array<char, 65536> buffer;
  const ssize_t count = ::read(out_, buffer.data(), buffer.size());
  if (count > 0) output.append(buffer.data(), static_cast<std::size_t>(count));
  return count == 0 ? Came::kEnd : Came::kBytes;
}

void ChildProcess::readErrors(std::chrono::milliseconds most, std::string& errors) {
  const auto end = std::chrono::steady_clock::now() + most;
  pollfd stream{err_, POLLIN, 0};
  while (std::chrono::steady_clock::now() < end && ::poll(&stream, 1, 100) >= 0)
    if (stream.revents != 0 && !appendErrors(errors)) return;
}

bool ChildProcess::send(const Bytes& bytes) const {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(in_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

void ChildProcess::closeInput() {
  if (in_ >= 0) ::close(std::exchange(in_, -1));
}

void ChildProcess::kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

int ChildProcess::wait() {
  if (pid_ <= 0) return exit_code_;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

}  // namespace ringscope::traces
