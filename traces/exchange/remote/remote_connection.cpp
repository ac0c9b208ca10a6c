// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/remote/remote_connection.h"

#include <set>

#include "traces/format/core/error.h"
#include "traces/format/core/mutex.h"

namespace ringscope::traces {
namespace {

constexpr std::size_t kMostNoise = 256u << 10;  ///< bytes that start-up files may print
constexpr std::size_t kMostErrors = 4096;

/// The children of all connections of this process.
class Children {
 public:
  void add(const ChildProcess& child) RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (ended_) child.kill();
    children_.insert(&child);
  }
  void remove(const ChildProcess& child) RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    children_.erase(&child);
  }
  void end() RINGSCOPE_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ended_ = true;
    for (const ChildProcess* child : children_) child->kill();
  }

 private:
  Mutex mutex_;
  std::set<const ChildProcess*> children_ RINGSCOPE_GUARDED_BY(mutex_);
  bool ended_ RINGSCOPE_GUARDED_BY(mutex_) = false;
};

Children& children() {
  static Children all;
  return all;
}

}  // namespace

void endRemoteConnections() {
  children().end();
}

RemoteConnection::RemoteConnection(const RemoteAddress& address, const RemotePatience& patience)
    : address_(address), patience_(patience) {
  try {
    child_ = std::make_unique<ChildProcess>(remoteCommand(address_.shell, {"serve", address_.path}),
                                            ChildProcess::Input::kConnected);
  } catch (const Error& error) {
    throw inputError(std::string(error.what()) +
                     ". Install it (Debian: apt install openssh-client), or name another program "
                     "by RINGSCOPE_SSH");
  }
  children().add(*child_);
  try {
    skipToBeginning();
    open();
  } catch (const Error&) {
    children().remove(*child_);
    throw;
  }
}

RemoteConnection::~RemoteConnection() {
  children().remove(*child_);
}

/// Waits for output of the child. Loses the connection at its end, and after `most` without a byte.
void RemoteConnection::readMore(std::chrono::milliseconds most, std::string& output) {
  const auto came = child_->read(most, output, errors_);
  if (errors_.size() > kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
  if (came == ChildProcess::Came::kEnd) lose("");
  if (came == ChildProcess::Came::kNothing)
    lose("has not answered for " + std::to_string(most.count() / 1000) +
         " s; check the network, then open the recording again");
}

/// Ends the connection. `why` is empty when the child has closed its output.
void RemoteConnection::lose(const std::string& why) {
  children().remove(*child_);
  if (why.empty()) child_->readErrors(std::chrono::seconds(2), errors_);
  child_->kill();  // it may have closed its output without an end
  const int exit_code = child_->wait();
  if (!why.empty())
    lost_ = machine() + " " + why;
  else if (format_ == 0)
    lost_ = describeRemoteEnd(address_.shell, exit_code, errors_);
  else
    lost_ = "the connection to " + machine() + " is lost; open the recording again";
  throw inputError(lost_);
}

void RemoteConnection::reject(const std::string& what) {
  lose("sent " + what + "; open the recording again");
}

void RemoteConnection::skipToBeginning() {
  std::string output;
  for (;;) {
    const auto begin = output.find(kBeginLine);
    if (begin != std::string::npos) {
      const std::size_t first = begin + kBeginLine.size();
      decoder_.feed(output.data() + first, output.size() - first);
      return;
    }
    if (output.size() > kMostNoise)
      lose(
          "prints text without end when a command is run; make the start-up files of its shell "
          "silent");
    readMore(patience_.first, output);
  }
}

void RemoteConnection::open() {
  const ServeMessage first = receive();
  const auto* hello = std::get_if<ServerHello>(&first);
  if (!hello) lose("does not begin as a RingScope server does; install this version there");
  if (hello->version != kServeVersion || hello->format > kFormatVersion ||
      hello->format < kOldestFormat)
    lose("has RingScope " + hello->release +
         ", which cannot serve this version; install the same version on both machines");
  format_ = hello->format;
  const ServeMessage second = receive();
  if (const auto* refusal = std::get_if<Refusal>(&second))
    throw inputError(machine() + ": " + refusal->sentence);
  const auto* opened = std::get_if<Opened>(&second);
  if (!opened) lose("does not answer as a RingScope server does; install this version there");
  bytes_ = opened->bytes;
}

void RemoteConnection::send(const ServeRequest& request) {
  if (!lost_.empty()) throw inputError(lost_);
  // A server that does not read any more may have answered before: receive() reads to the end.
  if (!child_->send(encodeServeRequest(request))) child_->kill();
}

ServeMessage RemoteConnection::nextMessage() {
  std::string output;
  for (;;) {
    if (const auto frame = decoder_.next()) return decodeServeMessage(*frame);
    output.clear();
    readMore(patience_.next, output);
    decoder_.feed(output.data(), output.size());
  }
}

ServeMessage RemoteConnection::receive() {
  if (!lost_.empty()) throw inputError(lost_);
  try {
    for (;;) {
      ServeMessage message = nextMessage();
      if (!std::holds_alternative<Busy>(message)) return message;
    }
  } catch (const Error& error) {
    // A malformed message: what follows it cannot be trusted either.
    if (lost_.empty()) lose(std::string("sent what cannot be read: ") + error.what());
    throw;
  }
}

}  // namespace ringscope::traces
