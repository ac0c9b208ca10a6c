// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "traces/exchange/live/listening_socket.h"
#include "traces/exchange/live/live_job.h"
#include "traces/format/core/mutex.h"

namespace ringscope::traces {

struct ListenOptions {
  std::string address;  ///< as for ListeningSocket
  std::string token;    ///< token that a job must send over TCP; empty: a random one is generated
  std::string folder;   ///< as for LiveJob
  StreamLimits limits;
};

/// A listener that receives what the ranks of a job send and writes it into folders, which can be
/// opened like any recording. It works in a thread of its own. Malformed input ends its connection
/// and no other. While a listener exists, it can hold jobs; its destructor lets them continue.
class Listener {
 public:
  /// Starts listening. Throws usageError or inputError when the address cannot be used.
  explicit Listener(ListenOptions options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& address() const { return socket_.address(); }
  /// Returns the token that a job must send over TCP; empty: none is needed.
  std::string token() const { return socket_.isTcp() ? options_.token : ""; }

  JobSeen job() const;
  /// Waits until the job has changed since `changes`, or until `longest` has passed. Returns the
  /// job and updates `changes`.
  JobSeen waitForNews(std::uint64_t& changes, std::chrono::milliseconds longest) const;

  /// Holds the job at its next step border; does nothing when that is refused.
  void pause() { wish(Wish::kPause); }
  void go() { wish(Wish::kGo); }
  /// Lets a held job continue to the next step border.
  void step() { wish(Wish::kStep); }

 private:
  struct Connection;
  enum class Wish { kPause, kGo, kStep };

  void serve(const std::stop_token& stop);
  void accept();
  void read(Connection& connection);
  void takeHello(Connection& connection);
  void refuse(Connection& connection, const std::string& why);
  void close(Connection& connection);
  void sayRefused(const std::string& sentence);
  void carryOutWishes();
  void remind();
  void sendMessages();
  void send(Connection& connection, const std::string& line);
  void publish();
  void wish(Wish wish);

  ListenOptions options_;
  ListeningSocket socket_;
  int wake_ = -1;
  // Used by the thread only.
  LiveJob live_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::uint64_t refusals_ = 0;
  std::vector<std::string> refused_;
  std::int64_t reminded_ns_ = 0;
  mutable Mutex mutex_;
  mutable Condition news_;
  JobSeen job_ RINGSCOPE_GUARDED_BY(mutex_);
  std::int64_t published_ns_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  std::uint64_t changes_ RINGSCOPE_GUARDED_BY(mutex_) = 0;
  std::vector<Wish> wishes_ RINGSCOPE_GUARDED_BY(mutex_);
  std::jthread thread_;  // last member, so that it starts when all others exist
};

}  // namespace ringscope::traces
