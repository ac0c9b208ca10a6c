// SPDX-License-Identifier: Apache-2.0
#include "engine/launch/rank_supervisor.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include "engine/progress/progress_board.h"
#include "engine/progress/stall_watch.h"
#include "engine/transport/loopback_socket.h"
#include "engine/transport/rank_environment.h"
#include "traces/format/core/error.h"

namespace ringscope::engine {
namespace {

using traces::WorldRank;

constexpr int kAnsweredUpTo = 2;  // exit codes up to this one are answers, not failures
constexpr auto kGrace = std::chrono::milliseconds(400);
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kConsequences = std::chrono::milliseconds(100);

/// Returns a random token that no other program on this machine knows.
std::string newToken() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += std::to_string(random()) + ".";
  return token;
}

/// The store socket and token by which the ranks of one run find each other.
struct Meeting {
  LoopbackSocket socket = listenOnLoopback();
  std::string token = newToken();

  Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting() { ::close(socket.descriptor); }
  /// Sets the environment by which a child's rank finds the store. The first rank serves it.
  void tell(WorldRank rank) const;
};

void Meeting::tell(WorldRank rank) const {
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(socket.port).c_str(), 1);
  ::setenv(RankEnvironment::kStoreTokenVariable, token.c_str(), 1);
  ::unsetenv(RankEnvironment::kStoreSocketVariable);
  if (rank != WorldRank::of(0)) return;
  const int fd = ::dup(socket.descriptor);  // the copy has no close-on-exec flag
  ::setenv(RankEnvironment::kStoreSocketVariable, std::to_string(fd).c_str(), 1);
}

/// One rank process.
struct Child {
  WorldRank rank;
  pid_t pid = -1;
  int pidfd = -1;
  int stderr_fd = -1;  ///< a file in memory
  bool running = false;
  int status = 0;

  bool killed() const { return WIFSIGNALED(status); }
  bool failed() const { return !running && (killed() || WEXITSTATUS(status) > kAnsweredUpTo); }
  std::string said() const;
};

std::string Child::said() const {
  std::string text;
  char buffer[4096];
  ::lseek(stderr_fd, 0, SEEK_SET);
  for (ssize_t n = 0; (n = ::read(stderr_fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

std::string lastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const auto begin = text.rfind('\n');
  if (begin != std::string::npos) text.erase(0, begin + 1);
  return text.starts_with("ringscope: ") ? text.substr(11) : text;
}

/// Turns the child into its rank. Exceptions must not leave this function: the supervisor's
/// handlers would end the other ranks.
[[noreturn]] void becomeRank(const RankLaunch& launch, const Child& child, const Meeting& meeting,
                             const ProgressBoard& board, pid_t supervisor) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);  // the supervisor ended before the signal was armed
  const std::string rank = toString(child.rank);
  ::setenv("RANK", rank.c_str(), 1);
  ::setenv("LOCAL_RANK", rank.c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(launch.ranks).c_str(), 1);
  meeting.tell(child.rank);
  ::setenv(ProgressBoard::kVariable, std::to_string(board.descriptor()).c_str(), 1);
  ::dup2(child.stderr_fd, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (launch.in_child) launch.in_child(child.rank);
  std::vector<char*> argv;
  for (const std::string& argument : launch.arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(127);
}

class Supervisor {
 public:
  explicit Supervisor(const RankLaunch& launch)
      : launch_(launch),
        board_(launch.ranks),
        stalls_(board_, launch.ranks, launch.deadline, [this](WorldRank rank) {
          return of(rank).running ? named(of(rank)) : std::string();
        }) {
    sigemptyset(&stop_signals_);
    sigaddset(&stop_signals_, SIGINT);
    sigaddset(&stop_signals_, SIGTERM);
    sigemptyset(&previous_signals_);
  }
  ~Supervisor() {
    endAll(kGrace);
    ::pthread_sigmask(SIG_SETMASK, &previous_signals_, nullptr);
    for (Child& child : children_) {
      ::close(child.stderr_fd);
      if (child.pidfd >= 0) ::close(child.pidfd);
    }
  }

  int run() {
    ::pthread_sigmask(SIG_BLOCK, &stop_signals_, &previous_signals_);
    start();
    while (anyRunning()) {
      waitForSomething();
      if (askedToStop()) return stopped();
      reap();
      if (const Child* culprit = firstFailed()) throw runFailed(obituary(*culprit));
      if (const std::string stuck = stalls_.stuck(); !stuck.empty()) throw runFailed(stuck);
    }
    std::cerr << children_.front().said();
    return WEXITSTATUS(children_.front().status);
  }

 private:
  void start() {
    const Meeting meeting;
    const pid_t here = ::getpid();
    children_.resize(static_cast<std::size_t>(launch_.ranks));
    for (int rank = 0; rank < launch_.ranks; ++rank) {
      Child& child = children_[static_cast<std::size_t>(rank)];
      child.rank = WorldRank::of(rank);
      child.stderr_fd = ::memfd_create("ringscope-rank", MFD_CLOEXEC);
      child.pid = ::fork();
      if (child.pid == 0) becomeRank(launch_, child, meeting, board_, here);
      if (child.pid < 0) throw runFailed("rank " + std::to_string(rank) + " could not be started");
      child.running = true;
      child.pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0));
    }
    if (launch_.started) launch_.started();
  }

  bool askedToStop() const {
    const timespec now{0, 0};
    return ::sigtimedwait(&stop_signals_, nullptr, &now) > 0;
  }

  /// Ends all ranks after a stop signal. Each rank stops at its next gate and closes its trace.
  int stopped() {
    endAll(kPatience);
    std::cerr << "ringscope: the run was stopped\n";
    return 0;
  }

  bool anyRunning() const {
    return std::any_of(children_.begin(), children_.end(),
                       [](const Child& c) { return c.running; });
  }

  void waitForSomething() const {
    std::vector<pollfd> ends;
    for (const Child& child : children_)
      if (child.running && child.pidfd >= 0) ends.push_back({child.pidfd, POLLIN, 0});
    ::poll(ends.data(), ends.size(), 100);
  }

  void reap() {
    for (Child& child : children_) {
      if (!child.running || ::waitpid(child.pid, &child.status, WNOHANG) != child.pid) continue;
      child.running = false;
      if (child.failed() && failed_order_.empty()) {
        failed_order_.push_back(child.rank);
        // A rank that dies ends its peers too; a killed rank was the first to fail.
        std::this_thread::sleep_for(kConsequences);
        reap();
        return;
      }
      if (child.failed()) failed_order_.push_back(child.rank);
    }
  }

  /// Returns the first failed rank: a killed rank, else the rank with the earliest failure time.
  /// The order of exits does not show this, because a rank still closes its trace after its peers
  /// noticed its failure.
  const Child* firstFailed() {
    if (failed_order_.empty()) return nullptr;
    for (const WorldRank rank : failed_order_)
      if (of(rank).killed()) return &of(rank);
    WorldRank first = failed_order_.front();
    for (const Child& child : children_) {
      const std::int64_t at = board_.slot(child.rank).failed_ns,
                         best = board_.slot(first).failed_ns;
      if (at != 0 && (best == 0 || at < best)) first = child.rank;
    }
    waitForEnd(children_[first.index()]);
    return &of(first);
  }

  /// Waits briefly for the child to end, so that its message can be quoted.
  static void waitForEnd(Child& child) {
    const auto until = std::chrono::steady_clock::now() + kGrace;
    while (child.running && std::chrono::steady_clock::now() < until) {
      child.running = ::waitpid(child.pid, &child.status, WNOHANG) != child.pid;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  std::string named(const Child& child) const {
    return "rank " + toString(child.rank) + " (process " + std::to_string(child.pid) + ")";
  }

  std::string obituary(const Child& child) const {
    const std::string place = board_.slot(child.rank).describe();
    if (child.running) return named(child) + " failed, " + place;
    if (child.killed())
      return named(child) + " was lost: " + ::strsignal(WTERMSIG(child.status)) + ", " + place;
    const std::string said = lastLine(child.said());
    return said.empty() ? named(child) + " ended with code " +
                              std::to_string(WEXITSTATUS(child.status)) + ", " + place
                        : said;
  }

  /// Asks the ranks to end, and kills the ranks that do not.
  void endAll(std::chrono::milliseconds patience) {
    auto signal_all = [&](int signal) {
      for (const Child& child : children_)
        if (child.running) ::kill(child.pid, signal);
    };
    signal_all(SIGTERM);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (anyRunning() && std::chrono::steady_clock::now() < until) {
      for (Child& child : children_)
        if (child.running && ::waitpid(child.pid, &child.status, WNOHANG) == child.pid)
          child.running = false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    signal_all(SIGKILL);
    for (Child& child : children_)
      if (child.running) ::waitpid(child.pid, &child.status, 0);
  }

  const Child& of(WorldRank rank) const { return children_[rank.index()]; }

  const RankLaunch& launch_;
  ProgressBoard board_;
  StallWatch stalls_;
  std::vector<Child> children_;
  std::vector<WorldRank> failed_order_;
  sigset_t stop_signals_, previous_signals_;
};

}  // namespace

int superviseRanks(const RankLaunch& launch) {
  return Supervisor(launch).run();
}

}  // namespace ringscope::engine
