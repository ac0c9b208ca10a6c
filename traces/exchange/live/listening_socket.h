// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ringscope::traces {

/// A socket that only this machine reaches: a Unix socket of mode 0600, or TCP on 127.0.0.1.
class ListeningSocket {
 public:
  /// `address`: "127.0.0.1:PORT" (0: any that is free), the path of a Unix socket ("unix:PATH"
  /// where it looks like the other), or empty: defaultPath(). Throws usageError or inputError.
  explicit ListeningSocket(const std::string& address);
  ~ListeningSocket();  ///< takes a Unix socket's file away
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int descriptor() const { return descriptor_; }
  bool isTcp() const { return path_.empty(); }
  /// As RINGSCOPE_LIVE takes it.
  const std::string& address() const { return address_; }

  /// Whether the other end of a connection to it is a process of this user, or root's. Of TCP it
  /// cannot be told: a token has to say so.
  static bool isOfOwner(int connection);

  /// "live.sock" in a folder of this user alone: $XDG_RUNTIME_DIR/ringscope, else
  /// /tmp/ringscope-UID.
  static std::string defaultPath();

 private:
  void openUnix(const std::string& path);
  void openTcp(const std::string& port);

  int descriptor_ = -1;
  std::string path_;  ///< of a Unix socket
  std::string address_;
};

/// 32 hexadecimal digits that nobody can guess.
std::string randomToken();
/// In a time that does not tell how much is equal.
bool isSameToken(const std::string& a, const std::string& b);

}  // namespace ringscope::traces
