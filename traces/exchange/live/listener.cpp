// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/live/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "traces/format/core/clock.h"
#include "traces/format/core/error.h"
#include "traces/format/core/sentence_of.h"
#include "traces/format/core/utf8.h"
#include "traces/format/trace/admission.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostHello = 4096, kMostUnsent = 1 << 16, kMostRefused = 20;
constexpr std::size_t kMostConnections = kMaxRanks + 64;
constexpr std::int64_t kSecond = 1'000'000'000, kPatienceNs = 5 * kSecond;
constexpr int kRoundMs = 200;

std::string refusal(const std::string& why) {
  return nlohmann::json({{"line", "refused"}, {"why", why}}).dump();
}

}  // namespace

/// A connection. After its hello it belongs to a rank. A refused connection is read until the other
/// end has seen the reason.
struct Listener::Connection {
  explicit Connection(int fd) : descriptor(fd) {}
  ~Connection() { ::close(descriptor); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor;
  WorldRank rank;  ///< none: no hello was accepted
  bool refused = false, gone = false;
  std::int64_t since_ns = steadyNow();
  std::string hello, unsent;
};

Listener::Listener(ListenOptions options)
    : options_(std::move(options)),
      socket_(options_.address),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      live_(options_.folder, options_.limits) {
  if (options_.token.empty()) options_.token = randomToken();
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Listener::~Listener() {
  thread_.request_stop();
  wish(Wish::kGo);
  thread_.join();
  ::close(wake_);
}

void Listener::wish(Wish wish) {
  {
    const MutexLock lock(mutex_);
    wishes_.push_back(wish);
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

JobSeen Listener::job() const {
  const MutexLock lock(mutex_);
  JobSeen seen = job_;
  for (RankSeen& rank : seen.ranks) rank.silent_ns += steadyNow() - published_ns_;
  return seen;
}

JobSeen Listener::waitForNews(std::uint64_t& changes, std::chrono::milliseconds longest) const {
  {
    MutexLock lock(mutex_);
    news_.waitFor(lock, longest, [&]() RINGSCOPE_REQUIRES(mutex_) { return changes_ != changes; });
    changes = changes_;
  }
  return job();
}

void Listener::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<pollfd> ends = {{socket_.descriptor(), POLLIN, 0}, {wake_, POLLIN, 0}};
    for (const auto& connection : connections_) {
      const bool unsent = !connection->unsent.empty();
      ends.push_back(
          {connection->descriptor, static_cast<short>(POLLIN | (unsent ? POLLOUT : 0)), 0});
    }
    ::poll(ends.data(), ends.size(), kRoundMs);
    std::uint64_t woken = 0;
    [[maybe_unused]] const auto taken = ::read(wake_, &woken, sizeof woken);
    for (std::size_t i = 2; i < ends.size(); ++i) {
      Connection& connection = *connections_[i - 2];
      if (ends[i].revents & POLLOUT) send(connection, "");
      if (ends[i].revents & (POLLIN | POLLHUP | POLLERR)) read(connection);
      const bool late = steadyNow() - connection.since_ns > kPatienceNs;
      if (connection.rank.isNone() && late) connection.gone = true;
    }
    if (ends[0].revents & POLLIN) accept();
    carryOutWishes();
    remind();
    sendMessages();
    for (const auto& connection : connections_)
      if (connection->gone) close(*connection);
    std::erase_if(connections_, [](const auto& connection) { return connection->gone; });
    publish();
  }
  connections_.clear();
}

void Listener::accept() {
  const int fd = ::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return;
  auto connection = std::make_unique<Connection>(fd);
  if (connections_.size() >= kMostConnections) return;
  if (!socket_.isTcp() && !ListeningSocket::isOfOwner(fd))
    refuse(*connection, "only processes of the user who listens are taken");
  connections_.push_back(std::move(connection));
}

/// Reads what has arrived, but only as much as does not delay other connections.
void Listener::read(Connection& connection) {
  static thread_local std::array<char, 1 << 18> bytes;
  const ssize_t size = ::recv(connection.descriptor, bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    connection.gone = true;
    return;
  }
  if (connection.refused) return;
  const std::string_view taken(bytes.data(), static_cast<std::size_t>(size));
  try {
    if (connection.rank.exists()) return live_.feed(connection.rank, taken, steadyNow());
    connection.hello += taken;
    takeHello(connection);
  } catch (const std::exception& error) {
    refuse(connection, toSentence(error));
  }
}

void Listener::takeHello(Connection& connection) {
  const std::size_t end = connection.hello.find('\n');
  if (end > kMostHello && connection.hello.size() > kMostHello)
    throw inputError("what connected is not RingScope's recorder");
  if (end == std::string::npos) return;
  const Hello hello = Hello::parse(std::string_view(connection.hello).substr(0, end));
  if (socket_.isTcp() && !isSameToken(hello.token, options_.token))
    throw inputError("the token is wrong; RINGSCOPE_TOKEN must be what the listener says");
  live_.come(hello, steadyNow());
  connection.rank = hello.rank;
  send(connection, R"({"line":"welcome"})");
  const std::string rest = std::exchange(connection.hello, {}).substr(end + 1);
  live_.feed(connection.rank, rest, steadyNow());
}

void Listener::refuse(Connection& connection, const std::string& why) {
  const std::string sentence = toPlainText(why, 500);
  if (connection.rank.exists()) live_.leave(std::exchange(connection.rank, WorldRank::none()));
  sayRefused(sentence);
  connection.since_ns = steadyNow() - kPatienceNs + kSecond;
  connection.refused = true;
  send(connection, refusal(sentence));
  ::shutdown(connection.descriptor, SHUT_WR);
}

void Listener::close(Connection& connection) {
  if (connection.rank.exists()) live_.leave(connection.rank);
}

void Listener::carryOutWishes() {
  std::vector<Wish> wishes;
  {
    const MutexLock lock(mutex_);
    wishes = std::exchange(wishes_, {});
  }
  for (const Wish wish : wishes) {
    if (wish == Wish::kPause) live_.pauses().pause();
    if (wish == Wish::kGo) live_.pauses().go();
    if (wish == Wish::kStep) live_.pauses().step();
  }
}

void Listener::remind() {
  const std::int64_t now = steadyNow();
  if (now - reminded_ns_ < kSecond) return;
  reminded_ns_ = now;
  live_.pauses().remind();
  try {
    const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
    live_.writeVerdict(now, std::chrono::nanoseconds(unix_time).count());
  } catch (const Error& error) {
    sayRefused(error.what());
  }
}

void Listener::sayRefused(const std::string& sentence) {
  ++refusals_;
  refused_.push_back(sentence);
  if (refused_.size() > kMostRefused) refused_.erase(refused_.begin());
}

void Listener::sendMessages() {
  for (const auto& [rank, line] : live_.pauses().takeMessages())
    for (const auto& connection : connections_)
      if (connection->rank == rank) send(*connection, line);
}

/// Sends a line without waiting. A connection whose other end does not read is closed.
void Listener::send(Connection& connection, const std::string& line) {
  if (!line.empty()) connection.unsent += line + "\n";
  while (!connection.unsent.empty()) {
    const ssize_t sent = ::send(connection.descriptor, connection.unsent.data(),
                                connection.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN && !connection.refused) connection.gone = true;
    if (sent < 0) break;
    connection.unsent.erase(0, static_cast<std::size_t>(sent));
  }
  if (connection.unsent.size() > kMostUnsent) connection.gone = true;
}

void Listener::publish() {
  JobSeen seen = live_.seen(steadyNow());
  seen.refusals = refusals_;
  seen.refused = refused_;
  {
    const MutexLock lock(mutex_);
    job_ = std::move(seen);
    published_ns_ = steadyNow();
    ++changes_;
  }
  news_.notifyAll();
}

}  // namespace ringscope::traces
