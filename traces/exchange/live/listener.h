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
  std::string address;  ///< as ListeningSocket takes it
  std::string token;    ///< what a job must say that comes over TCP; empty: one is made up
  std::string folder;   ///< as LiveJob takes it
  StreamLimits limits;
};

/// Takes in what the ranks of a job send, on a thread of its own, and writes it into folders that
/// are opened like any recording. What a connection sends that is not well-formed ends that
/// connection and no other. While it lives, jobs may be held; when it goes, they go on.
class Listener {
 public:
  /// Throws usageError or inputError when it cannot listen there.
  explicit Listener(ListenOptions options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& address() const { return socket_.address(); }
  /// What a job that comes over TCP must say; empty: none is needed.
  std::string token() const { return socket_.isTcp() ? options_.token : ""; }

  JobSeen job() const;
  /// The same once something of it is another than it was at this many changes, or `longest` has
  /// passed; `changes` becomes what it is then.
  JobSeen waitForNews(std::uint64_t& changes, std::chrono::milliseconds longest) const;

  /// Holds the job at its next step border; nothing where that is refused.
  void pause() { wish(Wish::kPause); }
  void go() { wish(Wish::kGo); }
  /// Of a held job: on to the next step border.
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
  // Of the thread alone.
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
  std::jthread thread_;  // begins when all else is there
};

}  // namespace ringscope::traces
