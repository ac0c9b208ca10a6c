// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "traces/exchange/remote/remote_address.h"
#include "traces/exchange/remote/serve_messages.h"
#include "traces/format/core/child_process.h"

namespace ringscope::traces {

/// The longest silences that a connection allows.
struct RemotePatience {
  /// Until the other machine answers at all: a person may have to type a passphrase.
  std::chrono::milliseconds first = std::chrono::minutes(2);
  /// Between two messages of the server, which sends one per second while it works.
  std::chrono::milliseconds next = std::chrono::seconds(30);
};

/// A connection to `ringscope serve` on another machine, by a child process. Not thread-safe.
class RemoteConnection {
 public:
  /// Connects and opens the recording there. Throws inputError that says what failed and what to do
  /// about it.
  explicit RemoteConnection(const RemoteAddress& address, const RemotePatience& patience = {});
  ~RemoteConnection();

  /// Sends a request. Throws inputError when the connection is known to be lost. If the server has
  /// just ended, receive() still returns what it sent before.
  void send(const ServeRequest& request);
  /// Waits for the next message, except Busy. Throws inputError when the connection is lost or a
  /// message is malformed; every later call then throws the same.
  ServeMessage receive();
  /// Ends the connection, because the server sent `what`. Always throws inputError.
  [[noreturn]] void reject(const std::string& what);

  const std::string& machine() const { return address_.shell.machine; }
  /// Returns the format of the chunks that the server sends.
  int format() const { return format_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void skipToBeginning();
  void readMore(std::chrono::milliseconds most, std::string& output);
  void open();
  ServeMessage nextMessage();
  [[noreturn]] void lose(const std::string& why);

  const RemoteAddress address_;
  const RemotePatience patience_;
  std::unique_ptr<ChildProcess> child_;
  FrameDecoder decoder_;
  std::string errors_;  ///< the end of what the child wrote to standard error
  std::string lost_;    ///< why the connection cannot be used any more; empty while it can
  int format_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Ends all connections of this process, so that threads which wait for an answer return. No
/// connection can be made afterwards.
void endRemoteConnections();

}  // namespace ringscope::traces
